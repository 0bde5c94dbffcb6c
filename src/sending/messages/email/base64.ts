const notBase64 = /[^A-Za-z0-9+/ \t\r\n]/
const blank = /[ \t\r\n]/

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

const countBlanks = (text: string): number => {
  let blanks = 0
  for (let i = 0; i < text.length; i++) if (isBlank(text.charCodeAt(i))) blanks++
  return blanks
}

/**
 * Whether the text is base64, with or without padding. Encoders fold their output, so line breaks and spaces are
 * accepted. Does not backtrack, because attachments can have many megabytes.
 */
export const isBase64 = (text: string): boolean => {
  let padding = 0
  let end = text.length
  for (; end > 0; end--) {
    const code = text.charCodeAt(end - 1)
    if (code === 0x3d) padding++
    else if (!isBlank(code)) break
  }
  const bare = end === text.length ? text : text.slice(0, end)
  if (padding > 2 || notBase64.test(bare)) return false
  const digits = bare.length - (blank.test(bare) ? countBlanks(bare) : 0)
  return digits % 4 !== 1 && (padding === 0 || (digits + padding) % 4 === 0)
}
