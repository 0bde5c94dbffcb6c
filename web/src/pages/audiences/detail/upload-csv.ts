import { errorOf, OfflineError, readingFault } from '../../../api/api-error.ts'
import type { components } from '../../../api/schema.gen.ts'

export type ImportReport = components['schemas']['ImportReport']

/** With XMLHttpRequest, because fetch does not report how much of a body has been sent. */
export const uploadCsv = (
  audienceId: string,
  csv: string,
  onProgress: (part: number) => void,
): Promise<ImportReport> => {
  const { promise, resolve, reject } = Promise.withResolvers<ImportReport>()
  const request = new XMLHttpRequest()
  request.open('POST', `/api/internal/audiences/${audienceId}/import-csv`)
  request.setRequestHeader('content-type', 'text/csv')
  request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
  request.onerror = () => reject(new OfflineError())
  request.onload = async () => {
    const read = async () => JSON.parse(request.responseText) as ImportReport
    if (request.status === 200) return read().then(resolve, (fault) => reject(readingFault(fault)))
    const headers = { 'x-request-id': request.getResponseHeader('x-request-id') ?? '' }
    reject(await errorOf(new Response(request.responseText, { status: request.status, headers })))
  }
  request.send(csv)
  return promise
}
