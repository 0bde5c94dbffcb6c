import type { IncomingHttpHeaders } from 'node:http'

/** The value of a header, by its name in lower case. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
