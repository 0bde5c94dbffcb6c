import { invalid } from '../ground/errors.ts'
import { commonPasswords } from './common-passwords.ts'

export const minPasswordLength = 10
export const maxPasswordLength = 128

/** Throws a field error when the password is easy to guess. Its length is checked by the schema. */
export const checkPassword = (password: string, email: string, field: string): void => {
  const plain = password.toLowerCase()
  if (plain === email) throw invalid([field], 'same_as_email', 'Choose a password that is not your email address.')
  if (commonPasswords.has(plain) || new Set(plain).size === 1) {
    throw invalid([field], 'common_password', 'This password is on a list of common passwords. Choose another one.')
  }
}
