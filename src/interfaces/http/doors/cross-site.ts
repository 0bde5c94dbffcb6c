import type { IncomingHttpHeaders } from 'node:http'

/** Links, pictures and forms cannot set it, and the script of another origin needs a permission that nobody gets. */
const scriptHeader = 'x-requested-with'

/** Whether a script of the dashboard sent this request. A link or a picture on one of its pages does not count. */
export const isOwnScript = (headers: IncomingHttpHeaders): boolean => {
  const site = headers['sec-fetch-site']
  return (site === 'same-origin' || site === 'none') && Boolean(headers[scriptHeader])
}

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
