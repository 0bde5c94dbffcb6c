/** /api/internal/org/export: the data of an org, at once or as a job. */
import type { z } from 'zod'
import type { ExportJobs } from '../../exports/export-jobs.ts'
import { ExportJob } from '../../exports/shapes.ts'
import type { ExportJobRow } from '../../exports/store/export-job-rows.ts'
import type { StreamOrg } from '../../exports/stream-org.ts'
import type { Clock } from '../../ground/clock.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { byteRangeOf } from '../byte-range.ts'
import { downloadHeaders } from '../download-headers.ts'
import { page } from '../page.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'

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
      completed_at: row.completed_at?.toISOString() ?? null,
      expires_at: row.expires_at?.toISOString() ?? null,
      size_bytes: row.size_bytes,
      rows: row.rows,
      progress: progressOf(row),
      error: row.error,
      download_url: status === 'completed' ? `${jobsPath}/${row.id}/download` : null,
    }
  }

type Needs = { clock: Clock; streamOrg: StreamOrg; jobs: ExportJobs }

const makeDownload = (jobs: ExportJobs): DashboardRoute =>
  defineDashboardRoute({
    method: 'GET',
    path: `${jobsPath}/{id}/download`,
    gate,
    params: { id: 'exportJob' },
    responses: { 200: 'file', 206: 'file' },
    handle: async ({ session, params, header }) => {
      const id = params.id as string
      const { size, completedAt, open } = await jobs.file(session.orgId, id)
      const etag = `"${id}"`
      const range = byteRangeOf({ range: header('range'), ifRange: header('if-range'), etag, size })
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
  return [
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/org/export',
      gate,
      acts: true,
      responses: { 200: 'file' },
      handle: async (call) => {
        const { orgId } = call.session
        const content = await streamOrg(orgId, userActor(call))
        const headers = downloadHeaders({ filename: `${orgId}.ndjson`, type: contentType })
        return { status: 200, headers, file: { contentType, content } }
      },
    }),
    defineDashboardRoute({
      method: 'POST',
      path: '/api/internal/org/export/async',
      gate,
      // Its owner may take the data along.
      whileSuspended: 'open',
      responses: { 202: ExportJob },
      handle: async (call) => ({ status: 202, body: show(await jobs.request(call.session.orgId, userActor(call))) }),
    }),
    defineDashboardRoute({
      method: 'GET',
      path: jobsPath,
      gate,
      query: listQuery(),
      responses: { 200: listOf(ExportJob) },
      handle: async ({ session, query }) => {
        const rows = await jobs.list(session.orgId, keysetOf(query))
        return { status: 200, body: page(rows, query.limit, show) }
      },
    }),
    defineDashboardRoute({
      method: 'GET',
      path: `${jobsPath}/{id}`,
      gate,
      params: { id: 'exportJob' },
      responses: { 200: ExportJob },
      handle: async ({ session, params }) => ({
        status: 200,
        body: show(await jobs.read(session.orgId, params.id as string)),
      }),
    }),
    makeDownload(jobs),
  ]
}
