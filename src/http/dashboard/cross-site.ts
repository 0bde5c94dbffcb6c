import type { IncomingHttpHeaders } from 'node:http'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a page of another site made the browser send this request, with the user's cookies. Every current browser
 * sends Sec-Fetch-Site. An older one sends Origin. A caller that sends neither is not a browser.
 */
export const isCrossSite = (method: string, headers: IncomingHttpHeaders, ownOrigin: string): boolean => {
  if (safeMethods.has(method)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && headers.origin !== ownOrigin
}
