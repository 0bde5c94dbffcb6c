/** The range of a file that a request asks for, so that a download can continue where it stopped. */
import { Failure } from '../../platform/ground/errors.ts'

type Asked = { range: string | undefined; ifRange: string | undefined; etag: string; size: number }

/**
 * Undefined for the whole file. A header that is not one range of bytes is ignored, and so is a range of a file that has
 * changed since. A range outside the file is refused.
 */
export const byteRangeOf = ({ range, ifRange, etag, size }: Asked): { from: number; to: number } | undefined => {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (ifRange !== undefined && ifRange !== etag) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (from > to) throw new Failure('RANGE_NOT_SATISFIABLE', { headers: { 'content-range': `bytes */${size}` } })
  return { from, to }
}
