/** /api/internal/audiences/{id}: the members of an audience, one by one and as CSV files. */
import { keysetOf } from '../../../platform/ground/cursor.ts'
import type { ExportCsv } from '../../../recipients/audiences/csv/export-csv.ts'
import { type ImportCsv, maxCsvBytes } from '../../../recipients/audiences/csv/import-csv.ts'
import type { ManageMembers } from '../../../recipients/audiences/manage-members.ts'
import { AddMember, AudienceMember, Contact, ImportReport } from '../../../recipients/audiences/shapes.ts'
import { scopeOf, userActor } from '../actor.ts'
import { csvDownload, csvType, readCsvUpload } from '../csv-upload.ts'
import { Deleted, deleted, listed, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { contacts } from '../shown-resources.ts'
import { idQuery, listOf, listQuery } from './list-query.ts'

type Needs = { members: ManageMembers; importCsv: ImportCsv; exportCsv: ExportCsv }

const path = '/api/internal/audiences/{id}'
const params = { id: 'audience' } as const

const csvRoutes = ({ importCsv, exportCsv }: Needs): DashboardRoute[] => [
  defineRoute('POST', `${path}/import-csv`, bySession('requireDeveloperSession'), {
    params,
    uploads: [csvType],
    bodyLimit: maxCsvBytes,
    responses: { 200: ImportReport },
    handle: async (call) => {
      const bytes = await readCsvUpload(call.upload)
      const report = await importCsv(scopeOf(call.session), userActor(call), call.params.id, bytes)
      return ok(report)
    },
  }),
  defineRoute('GET', `${path}/export-csv`, bySession('requireOwnerSession'), {
    params,
    responses: { 200: 'file' },
    handle: async ({ session, params: { id } }) => csvDownload(await exportCsv(scopeOf(session), id as string)),
  }),
]

export const dashboardMemberRoutes = (needs: Needs): DashboardRoute[] => [
  defineRoute('GET', `${path}/contacts`, bySession('requireSession'), {
    params,
    query: listQuery(),
    responses: { 200: listOf(Contact) },
    handle: async ({ session, params: { id }, query }) => {
      const { afterId, limit } = keysetOf(query)
      const rows = await needs.members.list(scopeOf(session), id as string, { afterId, limit })
      return listed(rows, query.limit, contacts.show)
    },
  }),
  defineRoute('POST', `${path}/contacts`, bySession('requireDeveloperSession'), {
    params,
    body: AddMember,
    responses: { 200: AudienceMember, 201: AudienceMember },
    handle: async (call) => {
      const audienceId = call.params.id
      const { row, linked } = await needs.members.add(scopeOf(call.session), userActor(call), audienceId, call.body)
      return { status: linked ? 201 : 200, body: { ...contacts.show(row), audience_id: audienceId } }
    },
  }),
  defineRoute('DELETE', `${path}/contacts`, bySession('requireDeveloperSession'), {
    params,
    query: idQuery,
    responses: { 200: Deleted },
    handle: async ({ session, params: { id }, query }) =>
      deleted(await needs.members.remove(scopeOf(session), id as string, query.id)),
  }),
  ...csvRoutes(needs),
]
