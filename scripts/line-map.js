// Reduces a source map to the lines of our own sources. The whole map of the bundle takes 150 MB once it is parsed; this
// one takes a tenth of it, and a stack trace needs no more.
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const digits = new Uint8Array(128)
for (const [digit, letter] of [...alphabet].entries()) digits[letter.charCodeAt(0)] = digit

/** The numbers of every segment, line by line. Numbers have five bits a letter, the lowest of all is the sign. */
function* segmentsOf(mappings) {
  let segment = []
  let [number, shift] = [0, 0]
  for (let i = 0; i <= mappings.length; i++) {
    const letter = mappings[i]
    if (letter === ',' || letter === ';' || letter === undefined) {
      if (segment.length > 0) yield segment
      if (letter === ';') yield undefined
      segment = []
      continue
    }
    const digit = digits[mappings.charCodeAt(i)]
    number |= (digit & 31) << shift
    shift += 5
    if (digit & 32) continue
    segment.push(number & 1 ? -(number >> 1) : number >> 1)
    number = 0
    shift = 0
  }
}

const encode = (number) => {
  let [rest, text] = [number < 0 ? (-number << 1) | 1 : number << 1, '']
  do {
    const digit = rest & 31
    rest >>>= 5
    text += alphabet[rest > 0 ? digit | 32 : digit]
  } while (rest > 0)
  return text
}

/** Writes segments, whose numbers are differences to those before. */
const makeWriter = () => {
  const lines = []
  let line = []
  let last = { column: 0, source: 0, line: 0 }
  return {
    endLine: () => {
      lines.push(line.join())
      line = []
      last.column = 0
    },
    /** From this column on, up to the next segment, the code is that line of that source, or of no source. */
    write: (column, place) => {
      const numbers = [column - last.column]
      if (place) numbers.push(place.source - last.source, place.line - last.line, 0)
      line.push(numbers.map(encode).join(''))
      last = { ...last, ...place, column }
    },
    text: () => [...lines, line.join()].join(';'),
  }
}

/** `isOwn` decides by the path of a source, as it is in the map. */
export const reduceToLines = (text, isOwn) => {
  const { sources, mappings, ...map } = JSON.parse(text)
  const own = sources.filter(isOwn)
  const placeOf = sources.map((source) => own.indexOf(source))
  const { write, endLine, text: written } = makeWriter()
  const at = { column: 0, source: 0, line: 0 }
  let current
  let isEmpty = true
  const move = (column, source, line) => {
    isEmpty = false
    if (source === current?.source && line === current?.line) return
    if (source < 0 && current === undefined) return
    current = source < 0 ? undefined : { source, line }
    write(column, current)
  }
  for (const segment of segmentsOf(mappings)) {
    if (segment === undefined) {
      // A line that belongs to nothing must not belong to the line before.
      if (isEmpty) move(0, -1, 0)
      endLine()
      at.column = 0
      isEmpty = true
      continue
    }
    const [column, source = 0, line = 0] = segment
    at.column += column
    at.source += source
    at.line += line
    move(at.column, segment.length === 1 ? -1 : placeOf[at.source], at.line)
  }
  return JSON.stringify({ ...map, names: [], sources: own, mappings: written() })
}
