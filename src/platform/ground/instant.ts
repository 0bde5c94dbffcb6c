/** Must be a power of two. */
const slots = 64
const recent = Array.from({ length: slots }, () => ({ ms: Number.NaN, text: '' }))

/** `toISOString` with a small cache, because a send formats the same few dates many times. */
export const iso = (at: Date): string => {
  const ms = at.getTime()
  const slot = recent[ms & (slots - 1)]
  if (slot?.ms === ms) return slot.text
  const text = at.toISOString()
  if (slot) {
    slot.ms = ms
    slot.text = text
  }
  return text
}

export const isoOrNull = (at: Date | null | undefined): string | null => (at ? iso(at) : null)
