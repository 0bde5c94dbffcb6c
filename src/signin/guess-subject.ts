import { sha256Hex } from '../ground/crypto.ts'

/** Whose guesses are counted together. Addresses without an account are counted like others. */
type Subject = { email: string } | { device: string; userId: string } | { sessionsOf: string }

export const guessSubject = (subject: Subject): string => {
  if ('email' in subject) return sha256Hex(`email ${subject.email}`)
  if ('device' in subject) return sha256Hex(`device ${subject.userId} ${subject.device}`)
  return sha256Hex(`sessions ${subject.sessionsOf}`)
}
