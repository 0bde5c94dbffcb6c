/** /api/internal/org/export: the data of an org, at once or as a job. */
import type { z } from 'zod'
import type { Clock } from '../../../platform/ground/clock.ts'
import { keysetOf } from '../../../platform/ground/cursor.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import type { ExportJobs } from '../../../reports/exports/export-jobs.ts'
import { ExportJob } from '../../../reports/exports/shapes.ts'
import type { ExportJobRow } from '../../../reports/exports/store/export-job-rows.ts'
import type { StreamOrg } from '../../../reports/exports/stream-org.ts'
import { userActor } from '../actor.ts'
import { downloadHeaders } from '../download-headers.ts'
import { headerOf } from '../header-of.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { memberRoutes } from './member-routes.ts'

const contentType = 'application/x-ndjson'
const gate = 'requireOwnerSession'
const jobsPath = '/api/internal/org/export/jobs'

/** Rows of small types are not counted beforehand, and others are written meanwhile, so it ends at 99 until it is done. */
const progressOf = ({ status, rows, rows_expected: expected }: ExportJobRow): number => {
  if (status === 'completed' || status === 'expired') return 100
  if (status === 'queued' || expected === null) return 0
  return Math.min(99, Math.floor((100 * rows) / Math.max(1, expected)))
}

const makeShow =
  (clock: Clock) =>
  (row: ExportJobRow): z.output<typeof ExportJob> => {
    const isOver = row.status === 'completed' && row.expires_at !== null && row.expires_at <= clock.now()
    const status = isOver ? 'expired' : row.status
    return {
      id: row.id,
      status,
      requested_by: row.requested_by,
      created_at: row.created_at.toISOString(),
      completed_at: isoOrNull(row.completed_at),
      expires_at: isoOrNull(row.expires_at),
      size_bytes: row.size_bytes,
      rows: row.rows,
      progress: progressOf(row),
      error: row.error,
      download_url: status === 'completed' ? `${jobsPath}/${row.id}/download` : null,
    }
  }

type Asked = { range: string | undefined; ifRange: string | undefined; etag: string; size: number }

/**
 * The range that a request asks for, so that a download can continue where it stopped. Undefined for the whole file. A header that is not one range of bytes is ignored, and so is a range of a file that has
 * changed since. A range outside the file is refused.
 */
const byteRangeOf = ({ range, ifRange, etag, size }: Asked): { from: number; to: number } | undefined => {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (ifRange !== undefined && ifRange !== etag) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (from > to) throw new Failure('RANGE_NOT_SATISFIABLE', { headers: { 'content-range': `bytes */${size}` } })
  return { from, to }
}

type Needs = { clock: Clock; streamOrg: StreamOrg; jobs: ExportJobs }

const makeDownload = (jobs: ExportJobs): DashboardRoute =>
  defineRoute('GET', `${jobsPath}/{id}/download`, bySession(gate), {
    params: { id: 'exportJob' },
    responses: { 200: 'file', 206: 'file' },
    handle: async ({ session, params: { id }, headers: asked }) => {
      const { size, completedAt, open } = await jobs.file(session.orgId, id)
      const etag = `"${id}"`
      const range = byteRangeOf({ range: asked.range, ifRange: headerOf(asked, 'if-range'), etag, size })
      const { from, to } = range ?? { from: 0, to: size - 1 }
      const headers = {
        ...downloadHeaders({ filename: `${id}.ndjson`, type: contentType }),
        etag,
        'accept-ranges': 'bytes',
        'last-modified': completedAt.toUTCString(),
        'content-length': String(to - from + 1),
        ...(range && { 'content-range': `bytes ${from}-${to}/${size}` }),
      }
      return { status: range ? 206 : 200, headers, file: { contentType, content: await open(range) } }
    },
  })

export const exportRoutes = ({ clock, streamOrg, jobs }: Needs): DashboardRoute[] => {
  const show = makeShow(clock)
  const routes = memberRoutes({ kind: 'exportJob', item: ExportJob, show }, { path: jobsPath, read: gate })
  return [
    defineRoute('GET', '/api/internal/org/export', bySession(gate), {
      acts: true,
      responses: { 200: 'file' },
      handle: async (call) => {
        const { orgId } = call.session
        const content = await streamOrg(orgId, userActor(call))
        const headers = downloadHeaders({ filename: `${orgId}.ndjson`, type: contentType })
        return { status: 200, headers, file: { contentType, content } }
      },
    }),
    defineRoute('POST', '/api/internal/org/export/async', bySession(gate, { whileSuspended: 'open' }), {
      // Its owner may take the data along.
      responses: { 202: ExportJob },
      handle: async (call) => ({ status: 202, body: show(await jobs.request(call.session.orgId, userActor(call))) }),
    }),
    routes.list({ action: ({ orgId }, query) => jobs.list(orgId, keysetOf(query)) }),
    routes.get({ action: ({ orgId }, id) => jobs.read(orgId, id) }),
    makeDownload(jobs),
  ]
}
