/** Hashes passwords with argon2id at its lowest cost: the tests of sign-in make many, and do not depend on the cost. */
import { hash } from '@node-rs/argon2'

export const cheapHash = (password: string): Promise<string> =>
  hash(password, { memoryCost: 8, timeCost: 1, parallelism: 1 })
