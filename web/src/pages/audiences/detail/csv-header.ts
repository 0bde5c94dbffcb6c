/** The header of a CSV file, so that its columns can be given other names before the file is sent. */

export type CsvHeader = { names: string[] /** Where the rows begin. */; end: number }

/** Reads the first record. Quoted names may contain commas, line breaks and doubled quotes. */
export const readHeader = (text: string): CsvHeader => {
  const names: string[] = []
  let name = ''
  let quoted = false
  let at = text.startsWith('\uFEFF') ? 1 : 0
  for (; at < text.length; at++) {
    const char = text[at] as string
    if (quoted && char === '"' && text[at + 1] === '"') {
      name += '"'
      at++
    } else if (char === '"') quoted = !quoted
    else if (quoted) name += char
    else if (char === ',') {
      names.push(name.trim())
      name = ''
    } else if (char === '\n' || char === '\r') break
    else name += char
  }
  names.push(name.trim())
  while (text[at] === '\r' || text[at] === '\n') at++
  return { names, end: at }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const withHeader = (text: string, { end }: CsvHeader, names: readonly string[]): string =>
  `${names.map(quote).join(',')}\r\n${text.slice(end)}`

const targets = ['email', 'phone', 'name']

/** What a column probably contains, by its name: `E-Mail` is an email address. */
export const guessTarget = (name: string): string => {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  if (/^(e?mail|emailaddress)$/.test(plain)) return 'email'
  if (/^(phone|phonenumber|mobile|tel|telephone)$/.test(plain)) return 'phone'
  if (/^(name|fullname)$/.test(plain)) return 'name'
  return name
}

export const isReachable = (names: readonly string[]): boolean => names.includes('email') || names.includes('phone')
export const isTwice = (names: readonly string[]): boolean => new Set(names).size < names.length
export const targetNames: readonly string[] = targets
