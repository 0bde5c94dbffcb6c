/** Recognises keys that a person made up or a faulty program produced. */
import { isUtf8 } from 'node:buffer'

/** How many different bytes there are, and how often the most frequent one occurs. */
const tally = (bytes: Uint8Array): { distinct: number; highest: number } => {
  const counts = new Uint8Array(256)
  let [distinct, highest] = [0, 0]
  for (const byte of bytes) {
    const count = (counts[byte] as number) + 1
    counts[byte] = count
    if (count === 1) distinct++
    if (count > highest) highest = count
  }
  return { distinct, highest }
}

/** Few different differences between bytes at a fixed distance: a repeated half, or a counter of any usual width. */
const hasPattern = (key: Buffer): boolean =>
  [1, 2, 4, 8, 16].some((distance) => {
    const differences = new Uint8Array(key.length - distance)
    for (let i = 0; i < differences.length; i++) {
      differences[i] = (key[i + distance] as number) - (key[i] as number)
    }
    return tally(differences).distinct < differences.length / 4
  })

/** Words that were encoded as base64. */
const isText = (key: Buffer): boolean => isUtf8(key) && !/[^\P{Cc}\t\r\n]/u.test(key.toString())

/** Words that were used as base64 without encoding them. The last character is left out, because it has fewer bits. */
const spellsText = (key: Buffer): boolean => {
  const characters = key.toString('base64').slice(0, 42)
  return tally(Buffer.from(characters)).distinct < 16 || !/[a-z]/.test(characters) || !/[A-Z]/.test(characters)
}

/**
 * Whether 32 bytes could come from a random source. The rules refuse fewer than one random key in a billion. They
 * cannot recognise everything: the hash of a password passes.
 */
export const looksRandom = (key: Buffer): boolean => {
  const { distinct, highest } = tally(key)
  return distinct >= 16 && highest < 8 && !hasPattern(key) && !isText(key) && !spellsText(key)
}
