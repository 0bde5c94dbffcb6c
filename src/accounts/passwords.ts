import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { Failure } from '../ground/errors.ts'

/** argon2id with OWASP's recommended parameters: 19 MiB of memory, two iterations, one degree of parallelism. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, cost)

export const verifyPassword = (stored: string, password: string): Promise<boolean> => verify(stored, password)

/** Hashing runs on threads that files and name look-ups share, so that it never takes all of them. */
const defaultAtOnce = 2
/** A second of hashing, roughly. More would only make callers wait until they give up. */
const defaultWaiting = 100

export interface Passwords {
  hash(password: string): Promise<string>
  /** False without a stored hash, after the same work as with one. */
  matches(stored: string | null, password: string): Promise<boolean>
}

type Options = { atOnce?: number; waiting?: number; hash?: typeof hashPassword; verify?: typeof verifyPassword }

/** Hashes passwords, a few at a time. Beyond the limits a call is refused. */
export const makePasswords = (options: Options = {}): Passwords => {
  const { atOnce = defaultAtOnce, waiting = defaultWaiting } = options
  const { hash: make = hashPassword, verify: check = verifyPassword } = options
  let running = 0
  const queue: (() => void)[] = []

  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (queue.length >= waiting) {
        throw new Failure('RATE_LIMITED', { message: 'Too many attempts. Try again later.', retryAfter: 5 })
      }
      await new Promise<void>((resolve) => queue.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next) next()
      else running--
    }
  }

  /** A hash of a password that nobody knows. Made on first use. */
  let unknown: Promise<string> | undefined
  const nobodys = (): Promise<string> => {
    unknown ??= make(randomBytes(32).toString('base64url'))
    return unknown
  }

  return {
    hash: (password) => run(() => make(password)),
    matches: async (stored, password) => {
      const compared = stored ?? (await nobodys())
      const matches = await run(() => check(compared, password))
      return stored !== null && matches
    },
  }
}
