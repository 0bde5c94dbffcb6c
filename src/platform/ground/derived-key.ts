/** Keys that are derived from the master key, one for each purpose. */
import { hkdfSync } from 'node:crypto'
import { makeHmac } from './crypto.ts'

export type MasterKeys = { masterKey: Buffer; previous: Buffer[] }

export const derivedKey = (masterKey: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', purpose, 32))

export const derivedHmac = (masterKey: Buffer, purpose: string): ((text: string) => string) =>
  makeHmac(derivedKey(masterKey, purpose).toString('hex'))

/** One with the present master key, which is first, and one with each previous key. */
export const derivedHmacs = ({ masterKey, previous }: MasterKeys, purpose: string) => {
  const hmacs = [masterKey, ...previous].map((key) => derivedHmac(key, purpose))
  return hmacs as [(text: string) => string, ...((text: string) => string)[]]
}
