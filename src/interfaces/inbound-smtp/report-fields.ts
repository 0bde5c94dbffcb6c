/** Reads the fields of a machine-readable report part: groups of header lines, separated by blank lines. */

/** Fields by name in lower case. Of a repeated field the first counts. */
export type ReportFields = ReadonlyMap<string, string>

/** A report about every recipient of a message fits easily. The rest of a longer one is not read. */
const maxBytes = 131_072
const maxGroups = 100
const maxFields = 50

const fieldsOf = (lines: string): ReportFields => {
  const fields = new Map<string, string>()
  for (const line of lines.split('\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0 || fields.size >= maxFields) continue
    const name = line.slice(0, colon).trim().toLowerCase()
    if (!fields.has(name)) fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

export const readReportFields = (content: Uint8Array): ReportFields[] =>
  Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, maxBytes))
    .toString('utf8')
    .replace(/\r\n?/g, '\n')
    // A line that begins with a blank continues the one before it. One with nothing else separates two groups.
    .replace(/\n[ \t]+(?=\n)/g, '\n')
    .replace(/\n[ \t]+/g, ' ')
    .split(/\n{2,}/, maxGroups)
    .map(fieldsOf)
    .filter(({ size }) => size > 0)

/** The address in `rfc822; ann@example.com` or `<ann@example.com>`. */
export const addressIn = (value: string | undefined): string | undefined => {
  const address = value
    ?.slice(value.indexOf(';') + 1)
    .trim()
    .replace(/^<(.*)>$/, '$1')
  return address?.includes('@') ? address : undefined
}
