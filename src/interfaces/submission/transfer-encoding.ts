/** Decodes the bodies of MIME parts byte for byte. */

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09

const hexDigit = (byte: number): number => {
  const [digit, letter] = [byte - 0x30, (byte | 0x20) - 0x57]
  return digit >= 0 && digit < 10 ? digit : letter >= 10 && letter < 16 ? letter : Number.NaN
}

/** Decodes line by line. Trailing blanks were added in transit and are dropped (RFC 2045, 6.7). */
const fromQuotedPrintable = (encoded: Buffer): Buffer => {
  const plain = Buffer.alloc(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; ) {
    const feed = encoded.indexOf(0x0a, at)
    const next = feed < 0 ? encoded.length : feed + 1
    let end = feed < 0 ? next : feed > at && encoded[feed - 1] === 0x0d ? feed - 1 : feed
    const lineEnd = encoded.subarray(end, next)
    while (end > at && isBlank(encoded[end - 1])) end--
    const isSoftBreak = end > at && encoded[end - 1] === 0x3d
    if (isSoftBreak) end--
    while (at < end) {
      const byte = encoded[at++] as number
      const octet =
        byte === 0x3d && at + 1 < end
          ? hexDigit(encoded[at] as number) * 16 + hexDigit(encoded[at + 1] as number)
          : Number.NaN
      if (!Number.isNaN(octet)) at += 2
      plain[length++] = Number.isNaN(octet) ? byte : octet
    }
    if (!isSoftBreak) length += lineEnd.copy(plain, length)
    at = next
  }
  return plain.subarray(0, length)
}

/** Some mail clients pad every line, so each run that ends in "=" is decoded separately. */
const fromBase64 = (encoded: Buffer): Buffer => {
  const units = encoded.toString('latin1').split(/=+/)
  return Buffer.concat(units.map((unit) => Buffer.from(unit, 'base64')))
}

export const decodedBody = (body: Buffer, encoding: string): Buffer => {
  if (encoding === 'base64') return fromBase64(body)
  return encoding === 'quoted-printable' ? fromQuotedPrintable(body) : body
}
