/** Parses a CSV file of contacts in slices, so that a large or hostile file does not block other requests. */
import { isUtf8 } from 'node:buffer'
import { CsvError, parse } from 'csv-parse'
import { Failure, invalid } from '../../../platform/ground/errors.ts'
import { startSlices } from '../../../platform/ground/event-loop-turns.ts'
import { type CsvHeader, readHeader } from './csv-header.ts'
import { type CsvContact, hasNul, readRow } from './csv-row.ts'

export const maxCsvRows = 10_000

/** Larger than the largest valid row: 100 cells of 4,096 characters. */
const maxRowSize = 1_000_000
const maxCells = 20_000
/** Parsed in about a millisecond. */
const chunkBytes = 16_384

export type CsvFile = {
  rows: number
  contacts: (CsvContact & { row: number })[]
  errors: { row: number; message: string }[]
}

const faulty = (message: string): Failure => invalid(['csv'], 'custom', message)

const tooManyRows = (): Failure =>
  new Failure('PAYLOAD_TOO_LARGE', { message: `CSV has more than ${maxCsvRows.toLocaleString('en')} rows` })

const syntaxFaults: Partial<Record<CsvError['code'], string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  CSV_INVALID_CLOSING_QUOTE: 'characters follow a closing quote',
  INVALID_OPENING_QUOTE: 'a quote is inside a cell without quotes',
  CSV_MAX_RECORD_SIZE: `the row has more than ${maxRowSize.toLocaleString('en')} characters`,
}

/** Collects the rows and the first fault of the file. */
const makeCollector = (mayHaveNul: boolean) => {
  const file: CsvFile = { rows: 0, contacts: [], errors: [] }
  let header: CsvHeader | undefined
  let fault: Failure | undefined
  const takeHeader = (cells: string[]): void => {
    const read = readHeader(cells)
    if (typeof read === 'string') fault = faulty(read)
    else header = read
  }
  return {
    file,
    fault: () => fault,
    hasHeader: () => header !== undefined,
    take: (cells: string[]): void => {
      if (fault) return
      if (!header) {
        takeHeader(cells)
        return
      }
      if (file.rows === maxCsvRows) {
        fault = tooManyRows()
        return
      }
      const row = ++file.rows
      const read = mayHaveNul && hasNul(cells) ? 'contains a character that cannot be stored' : readRow(cells, header)
      if (typeof read === 'string') file.errors.push({ row, message: read })
      else file.contacts.push({ ...read, row })
    },
  }
}

const asFailure = (error: unknown, rows: number): unknown => {
  if (!(error instanceof CsvError)) return error
  const what = syntaxFaults[error.code] ?? 'the row cannot be read'
  return faulty(`Not valid CSV after row ${rows}: ${what}.`)
}

/**
 * How many cells the unfinished row has. Empty cells do not count towards `max_record_size`, and a row with millions of
 * them takes long to complete. The library has no option for it.
 */
const openCells = (parser: object): number => (parser as { state: { record: unknown[] } }).state.record.length

/** Fails on a file that is refused as a whole. Rows that cannot be imported are listed in `errors`. */
export const parseCsv = async (bytes: Buffer): Promise<CsvFile> => {
  if (!isUtf8(bytes)) throw faulty('The file must be UTF-8.')
  const collector = makeCollector(bytes.includes(0))
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRowSize,
    // Nothing is passed on, so the stream never fills up.
    on_record: (cells: string[]) => {
      collector.take(cells)
      return null
    },
  })
  parser.on('error', () => undefined)
  parser.resume()
  const settled = (start: (done: (error?: Error | null) => void) => void): Promise<void> =>
    new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())))
  const slices = startSlices()
  try {
    for (let at = 0; at < bytes.length && !collector.fault(); at += chunkBytes) {
      const chunk = bytes.subarray(at, at + chunkBytes)
      await settled((done) => parser.write(chunk, done))
      if (openCells(parser) > maxCells) throw faulty(`A row has more than ${maxCells.toLocaleString('en')} cells.`)
      if (slices.over()) await slices.next()
    }
    if (!collector.fault()) await settled((done) => parser.end(done))
  } catch (error) {
    throw collector.fault() ?? asFailure(error, collector.file.rows)
  } finally {
    parser.destroy()
  }
  const fault = collector.fault()
  if (fault) throw fault
  if (!collector.hasHeader()) throw faulty('The header needs a column "email" or "phone".')
  return collector.file
}
