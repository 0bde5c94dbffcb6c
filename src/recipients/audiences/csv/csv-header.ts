/** Reads the header of a CSV file: which column has which field. */
import { maxMetadataKey } from '../contact-fields.ts'
import { readCell } from './csv-cells.ts'

/** More columns than a spreadsheet that somebody edits, and few enough to read each row quickly. */
export const maxColumns = 2_000

export const knownColumns = ['email', 'phone', 'name'] as const
export type KnownColumn = (typeof knownColumns)[number]

export type CsvHeader = {
  /** The position of each known column. */
  known: Partial<Record<KnownColumn, number>>
  /** Positions and names of the other columns. */
  keys: { at: number; key: string }[]
  /** How many cells a row can have. Cells under a blank name must be blank. */
  width: number
  unnamed: number[]
}

/** A metadata key with the name of a known column has an apostrophe in front. */
const likeKnown = /^'*(?:email|phone|name)$/i
const escapedKnown = /^'+(?:email|phone|name)$/i

/** The name of the column for a metadata key. `readHeader` reads it back. */
export const columnName = (key: string): string => (likeKnown.test(key) ? `'${key}` : key)

const isKnown = (name: string): name is KnownColumn => (knownColumns as readonly string[]).includes(name)

/** Returns what is wrong with the header as a text. */
export const readHeader = (cells: readonly string[]): CsvHeader | string => {
  if (cells.length > maxColumns) return `The header has more than ${maxColumns.toLocaleString('en')} columns.`
  const header: CsvHeader = { known: {}, keys: [], width: cells.length, unnamed: [] }
  const seen = new Set<string>()
  for (const [at, cell] of cells.entries()) {
    const name = readCell(cell.trim()).trim()
    const folded = name.toLowerCase()
    const escaped = escapedKnown.test(name)
    const key = isKnown(folded) ? folded : escaped ? name.slice(1) : name
    if (key === '') {
      header.unnamed.push(at)
      continue
    }
    if (key.length > maxMetadataKey) return `A column name has more than ${maxMetadataKey} characters.`
    if (key.includes('\0')) return 'A column name contains a character that cannot be stored.'
    const column = escaped ? name : key
    if (seen.has(column)) return `The header names the column "${key}" twice.`
    seen.add(column)
    if (!escaped && isKnown(key)) header.known[key] = at
    else header.keys.push({ at, key })
  }
  if (header.known.email === undefined && header.known.phone === undefined) {
    return 'The header needs a column "email" or "phone".'
  }
  return header
}
