import { hash, verify } from '@node-rs/argon2'

/** argon2id with OWASP's recommended parameters: 19 MiB of memory, two iterations, one degree of parallelism. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, cost)
export const verifyPassword = (stored: string, password: string): Promise<boolean> => verify(stored, password)
