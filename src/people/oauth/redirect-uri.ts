/** The addresses that a browser may be sent back to with a code. */

const maxLength = 2_000
/** Visible ASCII without quotes, angle brackets and backslashes, which programs read differently. */
const plain = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]+$/
const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?<port>:\d{1,5})?(?=[/?]|$)/

/** https, or http on this machine. Fragments and user names have no place in such an address. */
export const isRedirectUri = (text: string): boolean => {
  if (text.length > maxLength || !plain.test(text) || text.includes('#') || !URL.canParse(text)) return false
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || url.hostname === '') return false
  return text.startsWith('https://') || loopback.test(text)
}

const withoutPort = (text: string): string =>
  text.replace(loopback, (start, port?: string) => start.slice(0, start.length - (port?.length ?? 0)))

/** Exact, except for the port of a loopback address: a native client listens on whichever port is free. */
export const isRegisteredUri = (registered: readonly string[], given: string): boolean => {
  if (!isRedirectUri(given)) return false
  return registered.some((one) => one === given || (loopback.test(one) && withoutPort(one) === withoutPort(given)))
}

/** As the consent page shows it. */
export const redirectHost = (uri: string): string => new URL(uri).hostname

/** The address with parameters added to its query. */
export const withParameters = (uri: string, parameters: Record<string, string | null>): string => {
  const url = new URL(uri)
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value)
  return url.href
}
