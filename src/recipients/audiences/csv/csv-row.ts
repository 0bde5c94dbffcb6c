/** Turns a row of a CSV file into a contact. */
import { contactEmail, maxMetadataKeys, maxMetadataValue, maxName, maxPhone } from '../contact-fields.ts'
import { readCell } from './csv-cells.ts'
import type { CsvHeader, KnownColumn } from './csv-header.ts'

export type CsvContact = {
  name: string | null
  email: string | null
  phone: string | null
  /** As JSON. */
  metadata: string
}

const isBlank = (cell: string | undefined): boolean => cell === undefined || cell.trim() === ''

const knownCell = (cells: readonly string[], { known }: CsvHeader, column: KnownColumn): string | null => {
  const at = known[column]
  const cell = at === undefined ? undefined : cells[at]
  return isBlank(cell) ? null : readCell((cell as string).trim()).trim() || null
}

const misplaced = (cells: readonly string[], { width, unnamed }: CsvHeader): boolean =>
  unnamed.some((at) => !isBlank(cells[at])) || (cells.length > width && !cells.slice(width, width + 100).every(isBlank))

/** Returns why the row is skipped as a text. */
export const readRow = (cells: readonly string[], header: CsvHeader): CsvContact | string => {
  // Longer rows cannot be meant, and comparing each of a million cells takes long.
  if (cells.length > header.width + 100 || misplaced(cells, header)) return 'a cell has no column name'
  const [email, phone, name] = [
    knownCell(cells, header, 'email'),
    knownCell(cells, header, 'phone'),
    knownCell(cells, header, 'name'),
  ]
  if (email === null && phone === null) return 'no email or phone'
  const address = email === null ? null : contactEmail(email)
  if (address === undefined) return 'invalid email'
  if (phone !== null && phone.length > maxPhone) return `phone over ${maxPhone} characters`
  if (name !== null && name.length > maxName) return `name over ${maxName} characters`
  const entries: [string, string][] = []
  for (const { at, key } of header.keys) {
    const cell = cells[at]
    if (cell === undefined || isBlank(cell)) continue
    const value = readCell(cell)
    if (value.length > maxMetadataValue) return `a cell over ${maxMetadataValue.toLocaleString('en')} characters`
    entries.push([key, value])
  }
  if (entries.length > maxMetadataKeys) return `more than ${maxMetadataKeys} metadata keys`
  return { name, email: address, phone, metadata: JSON.stringify(Object.fromEntries(entries)) }
}

/** PostgreSQL cannot store a NUL in a text. */
export const hasNul = (cells: readonly string[]): boolean => cells.some((cell) => cell.includes('\0'))
