/** A list that a person types, one entry on a line or separated by commas. */
export const entriesOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((entry) => entry.trim())
    .filter(Boolean)

/** An empty field means that there is no value. */
export const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))
