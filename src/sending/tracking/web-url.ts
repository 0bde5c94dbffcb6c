/** URLs in links, read like a browser reads them. */

/** In bytes. A longer link is not wrapped, because the result might be too long for mail clients and proxies. */
export const longestTrackedUrl = 2_048

const isIgnored = (code: number): boolean => code === 0x09 || code === 0x0a || code === 0x0d

/**
 * The URL in an attribute, or undefined if it is too long to track. Browsers ignore control characters and spaces
 * around a URL, and tabs and line breaks inside it.
 */
export const trackableUrl = (value: string): string | undefined => {
  let [start, end] = [0, value.length]
  while (start < end && value.charCodeAt(start) <= 0x20) start++
  while (end > start && value.charCodeAt(end - 1) <= 0x20) end--
  // A value can have megabytes, so it is measured before anything else reads it.
  let length = 0
  for (let at = start; at < end; at++) {
    if (!isIgnored(value.charCodeAt(at)) && ++length > longestTrackedUrl) return undefined
  }
  return value.slice(start, end).replaceAll(/[\t\n\r]+/g, '')
}

/** Whether a link can be the target of a redirect: an absolute web URL without control characters. */
export const isWebUrl = (url: string): boolean => /^https?:\/\//i.test(url) && !/\p{Cc}/u.test(url) && URL.canParse(url)

const normal = (url: string): string => (URL.canParse(url) ? new URL(url).href : url)

/** Whether a URL is one of these, or below one of them that ends in `/`. */
export const makeIsKept = (keep: readonly string[]): ((url: string) => boolean) => {
  const exact = new Set(keep.map(normal))
  const folders = keep.filter((url) => url.endsWith('/')).map(normal)
  return (url) => {
    const normalUrl = normal(url)
    return exact.has(normalUrl) || folders.some((folder) => normalUrl.startsWith(folder))
  }
}
