/** Writes rows in the text format of COPY. */

const special = /[\\\n\r\t]/
const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const escaped = (text: string): string =>
  special.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => escapes[character] as string) : text

const quotes = /["\\]/

const element = (value: string | number): string => {
  if (typeof value === 'number') return String(value)
  return quotes.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`
}

/** The literal of a one-dimensional array without nulls. */
const arrayText = (values: readonly (string | number)[]): string => `{${values.map(element).join(',')}}`

type CopyValue = string | number | boolean | null | undefined | readonly unknown[] | object

/** A column of arrays and a column of JSON can both get a list, so the caller says which columns are JSON. */
const fieldOf = (value: CopyValue, isJson: boolean): string => {
  if (value === null || value === undefined) return '\\N'
  if (isJson) return escaped(JSON.stringify(value))
  if (Array.isArray(value)) return escaped(arrayText(value))
  return typeof value === 'string' ? escaped(value) : String(value)
}

export type CopyTable = {
  columns: readonly string[]
  json: ReadonlySet<string>
  /** Values of absent columns that must not be null. */
  absent: Readonly<Record<string, CopyValue>>
}

export const copyLine = (row: Record<string, CopyValue>, { columns, json, absent }: CopyTable): string =>
  `${columns.map((column) => fieldOf(row[column] ?? absent[column], json.has(column))).join('\t')}\n`
