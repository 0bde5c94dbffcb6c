/**
 * Finds line ends other than CRLF in a message that arrives in chunks. Mail servers disagree on whether a lone CR or LF
 * ends a line, and a sender can use the difference to hide a second message inside the first (SMTP smuggling).
 */

const carriageReturn = 0x0d
const lineFeed = 0x0a

/** Returns a function that takes the chunks in order and returns whether one so far has a lone CR or LF. */
export const makeLoneLineEndFinder = (): ((chunk: Uint8Array) => boolean) => {
  let found = false
  // Kept between chunks, because a CR and its LF may arrive in different ones.
  let afterReturn = false
  return (chunk) => {
    for (let at = 0; at < chunk.length && !found; at++) {
      const byte = chunk[at]
      found = afterReturn !== (byte === lineFeed)
      afterReturn = byte === carriageReturn
    }
    return found
  }
}
