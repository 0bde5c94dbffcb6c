/**
 * Writes and reads the cells of a CSV file. A spreadsheet runs a cell as a formula when it begins with one of a few
 * characters. Such a cell gets an apostrophe in front, and reading removes one, so that every text survives both.
 */

const formula = /^'*[=+\-@\t\r＝＋－＠]/
const escapedFormula = /^'+[=+\-@\t\r＝＋－＠]/
/** A number does nothing as a formula, and programs expect phone numbers without an apostrophe. */
const plainNumber = /^[+-]?\d+(?:\.\d+)?$/
/** Spreadsheets split at other characters too, depending on the language, so those are quoted as well. */
const needsQuotes = /[",;|\t\r\n]|^\s|\s$/

export const writeCell = (text: string): string => {
  const safe = formula.test(text) && !plainNumber.test(text) ? `'${text}` : text
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const writeLine = (cells: readonly string[]): string => `${cells.map(writeCell).join(',')}\r\n`

/** The text of a cell without the apostrophe that `writeCell` adds. */
export const readCell = (cell: string): string => (escapedFormula.test(cell) ? cell.slice(1) : cell)
