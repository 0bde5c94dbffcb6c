// Reduces a source map to the lines of our own sources. The whole map of the bundle takes 150 MB once it is parsed; this
// one takes a tenth of it, and a stack trace needs no more.
import { decode, encode } from '@jridgewell/sourcemap-codec'

/** `isOwn` decides by the path of a source, as it is in the map. */
export const reduceToLines = (text, isOwn) => {
  const { sources, mappings, ...map } = JSON.parse(text)
  const own = sources.filter(isOwn)
  const placeOf = sources.map((source) => own.indexOf(source))
  let current = [-1, 0]
  /** A place is written only where it differs from the one before. A source of -1 is code of no source of ours. */
  const changesIn = (segments) => {
    // A line without segments belongs to nothing, not to the line before.
    const places = segments.length > 0 ? segments : [[0]]
    return places.flatMap(([column, source, line]) => {
      const place = source === undefined ? -1 : placeOf[source]
      if (place === current[0] && (place < 0 || line === current[1])) return []
      current = [place, line]
      return place < 0 ? [[column]] : [[column, place, line, 0]]
    })
  }
  return JSON.stringify({ ...map, names: [], sources: own, mappings: encode(decode(mappings).map(changesIn)) })
}
