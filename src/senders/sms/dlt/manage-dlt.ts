/** Registers and removes DLT entities, headers and templates. They belong to the whole org. */
import type { Actor, Audit } from '../../../journal/audit/append.ts'
import { foreignKeyViolation } from '../../../platform/db/faults.ts'
import type { Db, Tx } from '../../../platform/db/pool.ts'
import type { Statement } from '../../../platform/db/statement.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { type Keyset, keysetOf, type PageAsked } from '../../../platform/ground/cursor.ts'
import { Failure, invalid } from '../../../platform/ground/errors.ts'
import { type IdKind, newId } from '../../../platform/ground/ids.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import { assertOwnEnvironment, type Environment, type Scope } from '../../../platform/ground/scope.ts'
import { deleteSimulated } from '../../../providers/registry/store.ts'
import {
  type DltEntityRow,
  type DltHeaderRow,
  type DltTemplate,
  dltEntities,
  dltHeaders,
  dltTemplates,
  insertDltEntity,
  insertDltHeader,
  insertDltTemplate,
} from '../store/dlt-rows.ts'
import type { CreateDltEntity, CreateDltHeader, CreateDltTemplate } from './dlt-shapes.ts'

export interface ManageDltRows<Body, Row> {
  create(scope: Scope, actor: Actor, body: Body): Promise<Row>
  list(orgId: string, page: PageAsked): Promise<Row[]>
  get(scope: Scope, id: string): Promise<Row>
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
}

type Kept = { id: string; environment: Environment }
type One = { orgId: string; id: string }
type Statements<Row> = {
  list: Statement<Keyset & { orgId: string }, Row>
  find: Statement<One, Row>
  lock: Statement<One, Row>
  remove: Statement<One, never>
}

type NewRow = One & { environment: Environment; at: Date }

type Kind<Body, Row> = {
  idKind: IdKind
  statements: Statements<Row>
  insert: (tx: Tx, row: NewRow, body: Body) => Promise<Row | undefined>
  /** What audit entries say about the row. */
  about: (row: Row) => Record<string, unknown>
  assertUnused?: (tx: Tx, one: One) => Promise<void>
}

/** A live registration cannot rest on one that was only simulated. */
const isUsable = ({ environment }: NewRow, row: Kept | undefined): boolean =>
  row !== undefined && (environment === 'test' || row.environment === 'live')

const assertEntity = async (tx: Tx, made: NewRow, id: string): Promise<void> => {
  if (isUsable(made, await tx.row(dltEntities.hold, { orgId: made.orgId, id }))) return
  throw invalid(['entity'], 'custom', 'There is no such entity.')
}

const assertHeader = async (tx: Tx, made: NewRow, { header: id, entity }: CreateDltTemplate): Promise<void> => {
  const row = await tx.row(dltHeaders.hold, { orgId: made.orgId, id })
  if (isUsable(made, row) && row?.entity === entity) return
  throw invalid(['header'], 'custom', 'The entity has no such header.')
}

const entities: Kind<CreateDltEntity, DltEntityRow> = {
  idKind: 'dltEntity',
  statements: dltEntities,
  insert: (tx, made, { entity_id: entityId, legal_name: legalName }) =>
    tx.row(insertDltEntity, { ...made, entityId, legalName }),
  about: ({ entity_id, legal_name }) => ({ kind: 'entity', entity_id, legal_name }),
}

const headers: Kind<CreateDltHeader, DltHeaderRow> = {
  idKind: 'dltHeader',
  statements: dltHeaders,
  insert: async (tx, made, body) => {
    await assertEntity(tx, made, body.entity)
    return tx.row(insertDltHeader, { ...made, ...body })
  },
  about: ({ entity, header, category }) => ({ kind: 'header', entity, header, category }),
}

const templates: Kind<CreateDltTemplate, DltTemplate> = {
  idKind: 'dltTemplate',
  statements: dltTemplates,
  insert: async (tx, made, body) => {
    await assertEntity(tx, made, body.entity)
    await assertHeader(tx, made, body)
    return tx.row(insertDltTemplate, { ...made, ...body })
  },
  about: ({ entity, header, name, category }) => ({ kind: 'template', entity, header, name, category }),
  assertUnused: async (tx, one) => {
    if ((await tx.row(dltTemplates.isScheduled, one))?.scheduled) throw new Failure('DLT_IN_USE')
  },
}

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  /** Drops this process's cached templates of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

const makeManageRows = <Body, Row extends Kept>(
  { db, clock, audit, forget }: Needs,
  { idKind, statements, insert, about, assertUnused }: Kind<Body, Row>,
): ManageDltRows<Body, Row> => {
  const auditChange = (tx: Tx, scope: Scope, actor: Actor, action: 'dlt.created' | 'dlt.removed', row: Row) =>
    audit(tx, { orgId: scope.orgId, actor, action, resourceType: 'dlt', resourceId: row.id, metadata: about(row) })

  return {
    create: (scope, actor, body) =>
      db.tx(async (tx) => {
        const { orgId, environment } = scope
        const at = clock.now()
        const row = (await insert(tx, { orgId, id: newId(idKind, at.getTime()), environment, at }, body)) as Row
        await auditChange(tx, scope, actor, 'dlt.created', row)
        return row
      }),

    list: (orgId, page) => db.rows(statements.list, { orgId, ...keysetOf(page) }),

    get: ({ orgId }, id) => orNotFound(db.row(statements.find, { orgId, id })),

    remove: async (scope, actor, id) => {
      const one = { orgId: scope.orgId, id }
      try {
        await db.tx(async (tx) => {
          const row = await orNotFound(tx.row(statements.lock, one))
          assertOwnEnvironment(scope, row.environment)
          await assertUnused?.(tx, one)
          await tx.change(statements.remove, one)
          await tx.change(deleteSimulated, { ids: [id] })
          await auditChange(tx, scope, actor, 'dlt.removed', row)
        })
      } catch (error) {
        if (foreignKeyViolation(error)) throw new Failure('DLT_IN_USE')
        throw error
      }
      forget(scope.orgId)
    },
  }
}

export const makeManageDlt = (needs: Needs) => ({
  entities: makeManageRows(needs, entities),
  headers: makeManageRows(needs, headers),
  templates: makeManageRows(needs, templates),
})

export type ManageDlt = ReturnType<typeof makeManageDlt>
