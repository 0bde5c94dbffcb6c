/** The members of an audience: one by one, and as CSV files. */
import { z } from 'zod'
import { keysetOf } from '../../../platform/ground/cursor.ts'
import type { ExportCsv } from '../../../recipients/audiences/csv/export-csv.ts'
import { type ImportCsv, maxCsvBytes } from '../../../recipients/audiences/csv/import-csv.ts'
import type { ManageMembers } from '../../../recipients/audiences/manage-members.ts'
import { AddMember, AudienceMember, Contact, CsvInJson, ImportReport } from '../../../recipients/audiences/shapes.ts'
import { actorOf } from '../actor.ts'
import { csvDownload, csvType, readCsvUpload } from '../csv-upload.ts'
import { pageOf, pageQuery } from '../page.ts'
import { Deleted, deleted, listed, ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { contacts } from '../shown-resources.ts'
import { refusals } from './public-routes.ts'

type Needs = { members: ManageMembers; importCsv: ImportCsv; exportCsv: ExportCsv }

const write = byKey('write:audiences')
const read = byKey('read:audiences')
const base = { tag: 'Audiences', params: { id: 'audience' } } as const

const csvRoutes = ({ importCsv, exportCsv }: Pick<Needs, 'importCsv' | 'exportCsv'>): PublicRoute[] => [
  defineRoute('POST', '/audiences/{id}/import-csv', write, {
    ...base,
    operationId: 'importAudienceCsv',
    summary: 'Import contacts from a CSV file',
    description:
      'The header needs a column `email` or `phone`. A column `name` is optional, and every other column becomes a key of `metadata`. A row that matches an existing contact only makes it a member. A file with more than 10,000 rows, without such a header or with invalid CSV is refused as a whole; a row that cannot be imported is skipped. Nobody who has unsubscribed is subscribed again.',
    uploads: [csvType],
    describedBody: CsvInJson,
    bodyLimit: maxCsvBytes,
    responses: { 200: { schema: ImportReport, description: 'What the import did.' } },
    errors: ['VALIDATION_ERROR', ...refusals, 'TENANT_ERASED'],
    handle: async (call) => {
      const bytes = await readCsvUpload(call.upload)
      return ok(await importCsv(call.caller, actorOf(call), call.params.id, bytes))
    },
  }),
  defineRoute('GET', '/audiences/{id}/export-csv', read, {
    ...base,
    operationId: 'exportAudienceCsv',
    summary: 'Export the members as a CSV file',
    description:
      'One row for every member, with the columns `email`, `phone` and `name` and one column for each metadata key. A cell that a spreadsheet would run as a formula has an apostrophe in front, which an import removes.',
    responses: {
      200: {
        schema: z.string().meta({ examples: ['email,phone,name,plan\r\nada@example.com,+14155550100,Ada,pro\r\n'] }),
        contentType: csvType,
        description: 'The CSV file.',
      },
    },
    errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
    handle: async ({ caller, params: { id } }) => ({
      body: undefined,
      ...csvDownload(await exportCsv(caller, id as string)),
    }),
  }),
]

export const audienceMemberRoutes = ({ members, importCsv, exportCsv }: Needs): PublicRoute[] => [
  defineRoute('POST', '/audiences/{id}/contacts', write, {
    ...base,
    operationId: 'addAudienceMember',
    summary: 'Add a contact to an audience',
    description:
      'Give `contact_id`, or the fields of a contact, which is then found or created as in `POST /contacts`. The contact belongs to the same tenant as the audience.',
    body: AddMember,
    responses: {
      200: { schema: AudienceMember, description: 'The contact was a member already.' },
      201: { schema: AudienceMember, description: 'The contact is a member now.' },
    },
    errors: [...refusals, 'TENANT_ERASED'],
    handle: async (call) => {
      const audienceId = call.params.id
      const { row, linked } = await members.add(call.caller, actorOf(call), audienceId, call.body)
      return { status: linked ? 201 : 200, body: { ...contacts.show(row), audience_id: audienceId } }
    },
  }),
  defineRoute('GET', '/audiences/{id}/contacts', read, {
    ...base,
    operationId: 'listAudienceMembers',
    summary: 'List the contacts in an audience',
    query: pageQuery,
    responses: { 200: { schema: pageOf(Contact), description: 'A page of contacts, newest first.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params: { id }, query }) => {
      const { afterId, limit } = keysetOf(query)
      const rows = await members.list(caller, id as string, { afterId, limit })
      return listed(rows, query.limit, contacts.show)
    },
  }),
  defineRoute('DELETE', '/audiences/{id}/contacts/{contact_id}', write, {
    tag: 'Audiences',
    params: { id: 'audience', contact_id: 'contact' },
    operationId: 'removeAudienceMember',
    summary: 'Remove a contact from an audience',
    description: 'The contact itself stays.',
    responses: { 200: { schema: Deleted, description: 'The contact is no longer a member.' } },
    errors: refusals,
    handle: async ({ caller, params: { id, contact_id } }) =>
      deleted(await members.remove(caller, id as string, contact_id as string)),
  }),
  ...csvRoutes({ importCsv, exportCsv }),
]
