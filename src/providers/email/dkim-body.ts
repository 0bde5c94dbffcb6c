/** The digest of a message body in relaxed form (RFC 6376, section 3.4.4). */
import { createHash } from 'node:crypto'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'

const pieceBytes = 65_536

/** Whole lines, so that no run of spaces and no line end is split. */
function* linesOf(body: Buffer): Generator<string> {
  for (let start = 0; start < body.length; ) {
    const lf = body.indexOf('\n', start + pieceBytes)
    const end = lf < 0 ? body.length : lf + 1
    yield body.toString('latin1', start, end)
    start = end
  }
}

/** Runs of spaces become one space, and spaces at the end of a line are left out. */
const relaxed = (lines: string): string =>
  lines
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\r?\n/g, '\r\n')
    .replace(/ $/, '')

/** Empty lines at the end of the body are left out. Runs in slices, because a body can have millions of lines. */
export const digestBody = async (body: Buffer): Promise<Buffer> => {
  const hash = createHash('sha256')
  const slices = startSlices()
  let isEmpty = true
  let emptyLines = 0
  for (const lines of linesOf(body)) {
    const text = relaxed(lines)
    let end = text.length
    while (end >= 2 && text.startsWith('\r\n', end - 2)) end -= 2
    if (end > 0) {
      hash.update('\r\n'.repeat(emptyLines)).update(text.slice(0, end), 'latin1')
      emptyLines = 0
      isEmpty = false
    }
    emptyLines += (text.length - end) / 2
    if (slices.over()) await slices.next()
  }
  return (isEmpty ? hash : hash.update('\r\n')).digest()
}
