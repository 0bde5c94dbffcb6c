/** Splits a text message into the parts that carriers transmit and bill: GSM-7, or UCS-2 when GSM-7 cannot write it. */

const basic = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Each is sent as an escape character and another one, which count two and stay together. */
const extension = new Set('\f^{}\\[~]|€')

type SmsEncoding = 'gsm7' | 'ucs2'

/** Units are septets in GSM-7 and UTF-16 code units in UCS-2. Each part of several loses some to its header. */
const limits: Record<SmsEncoding, { alone: number; part: number }> = {
  gsm7: { alone: 160, part: 153 },
  ucs2: { alone: 70, part: 67 },
}

export const encodingOf = (text: string): SmsEncoding => {
  for (const character of text) if (!basic.has(character) && !extension.has(character)) return 'ucs2'
  return 'gsm7'
}

const unitsOf = (character: string, encoding: SmsEncoding): number => {
  if (encoding === 'ucs2') return character.length
  return extension.has(character) ? 2 : 1
}

type SmsParts = { encoding: SmsEncoding; parts: string[] }

/** The parts of the text. A character is never split over two parts. An empty text is one empty part. */
export const splitText = (text: string): SmsParts => {
  const encoding = encodingOf(text)
  const { alone, part } = limits[encoding]
  // Iterating by code point keeps surrogate pairs together.
  const characters = [...text]
  const total = characters.reduce((sum, character) => sum + unitsOf(character, encoding), 0)
  if (total <= alone) return { encoding, parts: [text] }
  const parts: string[] = []
  let current = ''
  let units = 0
  for (const character of characters) {
    const size = unitsOf(character, encoding)
    if (units + size > part) {
      parts.push(current)
      current = ''
      units = 0
    }
    current += character
    units += size
  }
  return { encoding, parts: [...parts, current] }
}

/** How many segments the text is billed as. */
export const segmentsOf = (text: string): number => splitText(text).parts.length
