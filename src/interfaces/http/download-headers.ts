/** The headers of a response that contains a file from a stranger. A browser saves it and never shows it as a page. */

const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/

/** Types that a browser can run scripts from, or that contain such types. */
const active = /html|xml|xsl|svg|script|pdf|flash|^multipart\/|^message\//

const servedType = (given: string): string => {
  const type = given.trim().toLowerCase()
  return mediaType.test(type) && !active.test(type) ? type : 'application/octet-stream'
}

/** Without folders, and without characters that a header or a file system treats specially. */
const plainName = (given: string): string => {
  const base = given.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  const printable = base.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  return printable.replace(/[":*?<>|;%]/g, '_').replace(/^[.\s]+|[.\s]+$/g, '')
}

const encoded = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** RFC 6266: a name in ASCII for every client, and the name itself for those that read `filename*`. */
const disposition = (given: string | null): string => {
  const name = plainName(given ?? '') || 'attachment'
  const ascii = name.replace(/[^\x20-\x7e]/g, '_')
  return `attachment; filename="${ascii}"${ascii === name ? '' : `; filename*=UTF-8''${encoded(name)}`}`
}

export const downloadHeaders = (file: { filename: string | null; type: string }) => ({
  'content-type': servedType(file.type),
  'content-disposition': disposition(file.filename),
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-store',
})
