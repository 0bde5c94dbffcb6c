/** A power of two. */
const slots = 64
const kept = Array.from({ length: slots }, () => ({ ms: Number.NaN, text: '' }))

/** `toISOString`, which a send needs for the same few instants again and again. */
export const iso = (at: Date): string => {
  const ms = at.getTime()
  const slot = kept[ms & (slots - 1)]
  if (slot?.ms === ms) return slot.text
  const text = at.toISOString()
  if (slot) {
    slot.ms = ms
    slot.text = text
  }
  return text
}
