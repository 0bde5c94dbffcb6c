/** Compares a text message with the content that its DLT template is registered with. */

const variable = '{#var#}'
const longestValue = 30

const words = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** The places after a value of 1 to 30 characters that begins at one of the places. */
const afterValue = (places: Set<number>, length: number): Set<number> => {
  const after = new Set<number>()
  let latest = Number.NEGATIVE_INFINITY
  for (let place = 1; place <= length; place++) {
    if (places.has(place - 1)) latest = place - 1
    if (place - latest <= longestValue) after.add(place)
  }
  return after
}

/** Each variable matches 1 to 30 characters. Runs of white space are equal. */
export const matchesDltContent = (content: string, body: string): boolean => {
  const text = [...words(body)]
  const [first = '', ...others] = words(content).split(variable)
  const afterPiece = (places: Set<number>, piece: string): Set<number> => {
    const characters = [...piece]
    const matches = [...places].filter((place) => characters.every((one, i) => text[place + i] === one))
    return new Set(matches.map((place) => place + characters.length))
  }
  /** The places in the text that the content so far can lead to. */
  let places = afterPiece(new Set([0]), first)
  for (const piece of others) places = afterPiece(afterValue(places, text.length), piece)
  return places.has(text.length)
}
