import Bowser from 'bowser'

/** A user agent in words, such as `Chrome on macOS`. */
export const deviceName = (userAgent: string): string => {
  const text = userAgent.slice(0, 512)
  if (text.trim() === '') return 'Unknown device'
  const parser = Bowser.getParser(text)
  const browser = parser.getBrowserName()
  const system = parser.getOSName()
  if (browser && system) return `${browser} on ${system}`
  // Programs name themselves first: `curl/8.5.0`.
  return browser || /^[\w .-]{1,40}(?=\/)/.exec(text)?.[0] || system || 'Unknown device'
}
