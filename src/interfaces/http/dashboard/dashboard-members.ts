/** /api/internal/audiences/{id}: the members of an audience, one by one and as CSV files. */
import type { ExportCsv } from '../../audiences/csv/export-csv.ts'
import { type ImportCsv, maxCsvBytes } from '../../audiences/csv/import-csv.ts'
import type { ManageMembers } from '../../audiences/manage-members.ts'
import { AddMember, AudienceMember, Contact, ImportReport } from '../../audiences/shapes.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { csvDownload, csvType, readCsvUpload } from '../csv-upload.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownContact } from '../shown-audience.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery } from './one-or-list.ts'

type Needs = { members: ManageMembers; importCsv: ImportCsv; exportCsv: ExportCsv }

const path = '/api/internal/audiences/{id}'
const params = { id: 'audience' } as const

const csvRoutes = ({ importCsv, exportCsv }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/import-csv`,
    params,
    gate: 'requireDeveloperSession',
    uploads: [csvType],
    bodyLimit: maxCsvBytes,
    responses: { 200: ImportReport },
    handle: async (call) => {
      const bytes = await readCsvUpload(call.upload)
      const report = await importCsv(scopeOf(call.session), userActor(call), call.params.id as string, bytes)
      return { status: 200, body: report }
    },
  }),
  defineDashboardRoute({
    method: 'GET',
    path: `${path}/export-csv`,
    params,
    gate: 'requireOwnerSession',
    responses: { 200: 'file' },
    handle: async ({ session, params: { id } }) => csvDownload(await exportCsv(scopeOf(session), id as string)),
  }),
]

export const dashboardMemberRoutes = (needs: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: `${path}/contacts`,
    params,
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(Contact) },
    handle: async ({ session, params: { id }, query }) => {
      const { afterId, limit } = keysetOf(query)
      const rows = await needs.members.list(scopeOf(session), id as string, { afterId, limit })
      return { status: 200, body: page(rows, query.limit, shownContact) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/contacts`,
    params,
    gate: 'requireDeveloperSession',
    body: AddMember,
    responses: { 200: AudienceMember, 201: AudienceMember },
    handle: async (call) => {
      const audienceId = call.params.id as string
      const { row, linked } = await needs.members.add(scopeOf(call.session), userActor(call), audienceId, call.body)
      return { status: linked ? 201 : 200, body: { ...shownContact(row), audience_id: audienceId } }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: `${path}/contacts`,
    params,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async ({ session, params: { id }, query }) => {
      const removed = await needs.members.remove(scopeOf(session), id as string, query.id)
      return { status: 200, body: { id: removed, deleted: true } }
    },
  }),
  ...csvRoutes(needs),
]
