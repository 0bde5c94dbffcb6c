/** Line ends of mail. Servers rewrite lone CR and LF in transit, which would break a signature. */
import { startSlices } from '../../platform/ground/event-loop-turns.ts'

const pieceLength = 65_536

/** In well-formed Unicode, every line with CRLF at its end. */
export const crlfLines = (text: string): string => text.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n')

/** A piece ends neither between CR and LF nor inside a surrogate pair. */
const endOfPiece = (text: string, start: number): number => {
  const end = start + pieceLength
  return /^(?:\r\n|[\ud800-\udbff][\udc00-\udfff])$/.test(text.slice(end - 1, end + 1)) ? end + 1 : end
}

/** The same as bytes, for a text of any length. Runs in slices, because a text can have millions of line ends. */
export const crlfBytes = async (text: string, encoding: 'utf8' | 'latin1' = 'utf8'): Promise<Buffer> => {
  const pieces: Buffer[] = []
  const slices = startSlices()
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start)
    pieces.push(Buffer.from(crlfLines(text.slice(start, end)), encoding))
    start = end
    if (slices.over()) await slices.next()
  }
  return Buffer.concat(pieces)
}
