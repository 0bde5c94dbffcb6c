/** CSV files in requests and responses. */
import { type Failure, invalid } from '../../platform/ground/errors.ts'
import type { CsvExport } from '../../recipients/audiences/csv/export-csv.ts'
import { CsvInJson } from '../../recipients/audiences/shapes.ts'
import { parseJson, validate } from './read-request.ts'
import type { UploadedFile } from './route.ts'

export const csvType = 'text/csv'

const mediaTypeOf = ({ contentType }: UploadedFile): string =>
  (contentType.split(';', 1)[0] as string).trim().toLowerCase()

const otherType = (): Failure =>
  invalid(['headers', 'Content-Type'], 'custom', `Must be ${csvType}, or application/json with the field csv.`)

/** The bytes of a CSV file that was sent as it is, or as a text in JSON. */
export const readCsvUpload = async (upload: UploadedFile): Promise<Buffer> => {
  const type = mediaTypeOf(upload)
  if (type === csvType) return upload.bytes
  if (type !== 'application/json') throw otherType()
  return Buffer.from(validate(CsvInJson, await parseJson(upload.bytes, { values: 100 })).csv)
}

/** The response that saves the members of an audience as a file. */
export const csvDownload = ({ audience, chunks }: CsvExport) => ({
  status: 200,
  headers: { 'content-disposition': `attachment; filename="${audience.slug}.csv"` },
  file: { contentType: `${csvType}; charset=utf-8`, content: chunks },
})
