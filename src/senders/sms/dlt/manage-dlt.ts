/** Registers and removes DLT entities, headers and templates. They belong to the whole org. */
import type { Actor, Audit } from '../../audit/append.ts'
import { foreignKeyViolation } from '../../db/faults.ts'
import type { Db, Tx } from '../../db/pool.ts'
import type { Statement } from '../../db/statement.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure, invalid } from '../../ground/errors.ts'
import { newId } from '../../ground/ids.ts'
import type { Environment, Scope } from '../../ground/scope.ts'
import { deleteSimulated } from '../../providers/registry/store.ts'
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
  get(scope: Scope, id: string): Promise<Row>
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
}

export type ManageDlt = {
  entities: ManageDltRows<CreateDltEntity, DltEntityRow>
  headers: ManageDltRows<CreateDltHeader, DltHeaderRow>
  templates: ManageDltRows<CreateDltTemplate, DltTemplate>
}

type Kept = { id: string; environment: Environment }
type One = { orgId: string; id: string }
type Statements<Row> = { find: Statement<One, Row>; lock: Statement<One, Row>; remove: Statement<One, never> }

type Kind<Body, Row> = {
  statements: Statements<Row>
  insert: (tx: Tx, scope: Scope, body: Body, at: Date) => Promise<Row | undefined>
  /** What audit entries say about the row. */
  about: (row: Row) => Record<string, unknown>
  assertUnused?: (tx: Tx, one: One) => Promise<void>
}

/** A live registration cannot rest on one that was only simulated. */
const isUsable = (scope: Scope, row: Kept | undefined): boolean =>
  row !== undefined && (scope.environment === 'test' || row.environment === 'live')

const assertEntity = async (tx: Tx, scope: Scope, id: string): Promise<void> => {
  if (isUsable(scope, await tx.row(dltEntities.hold, { orgId: scope.orgId, id }))) return
  throw invalid(['entity'], 'custom', 'There is no such entity.')
}

const assertHeader = async (tx: Tx, scope: Scope, { header: id, entity }: CreateDltTemplate): Promise<void> => {
  const row = await tx.row(dltHeaders.hold, { orgId: scope.orgId, id })
  if (isUsable(scope, row) && row?.entity === entity) return
  throw invalid(['header'], 'custom', 'The entity has no such header.')
}

const entities: Kind<CreateDltEntity, DltEntityRow> = {
  statements: dltEntities,
  insert: (tx, { orgId, environment }, body, at) =>
    tx.row(insertDltEntity, {
      orgId,
      id: newId('dltEntity', at.getTime()),
      environment,
      entityId: body.entity_id,
      legalName: body.legal_name,
      at,
    }),
  about: ({ entity_id, legal_name }) => ({ kind: 'entity', entity_id, legal_name }),
}

const headers: Kind<CreateDltHeader, DltHeaderRow> = {
  statements: dltHeaders,
  insert: async (tx, scope, { entity, header, category }, at) => {
    await assertEntity(tx, scope, entity)
    const { orgId, environment } = scope
    const id = newId('dltHeader', at.getTime())
    return tx.row(insertDltHeader, { orgId, id, environment, entity, header, category, at })
  },
  about: ({ entity, header, category }) => ({ kind: 'header', entity, header, category }),
}

const templates: Kind<CreateDltTemplate, DltTemplate> = {
  statements: dltTemplates,
  insert: async (tx, scope, body, at) => {
    await assertEntity(tx, scope, body.entity)
    await assertHeader(tx, scope, body)
    const { orgId, environment } = scope
    const { entity, header, name, category, content } = body
    const id = newId('dltTemplate', at.getTime())
    return tx.row(insertDltTemplate, { orgId, id, environment, entity, header, name, category, content, at })
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
  { statements, insert, about, assertUnused }: Kind<Body, Row>,
): ManageDltRows<Body, Row> => {
  const auditChange = (tx: Tx, scope: Scope, actor: Actor, action: 'dlt.created' | 'dlt.removed', row: Row) =>
    audit(tx, {
      orgId: scope.orgId,
      actor,
      action,
      resourceType: 'dlt',
      resourceId: row.id,
      metadata: about(row),
    })

  return {
    create: (scope, actor, body) =>
      db.tx(async (tx) => {
        const row = (await insert(tx, scope, body, clock.now())) as Row
        await auditChange(tx, scope, actor, 'dlt.created', row)
        return row
      }),

    get: async ({ orgId }, id) => {
      const row = await db.row(statements.find, { orgId, id })
      if (!row) throw new Failure('NOT_FOUND')
      return row
    },

    remove: async (scope, actor, id) => {
      const one = { orgId: scope.orgId, id }
      try {
        await db.tx(async (tx) => {
          const row = await tx.row(statements.lock, one)
          if (!row) throw new Failure('NOT_FOUND')
          if (scope.environment === 'test' && row.environment === 'live') throw new Failure('ENVIRONMENT_ESCALATION')
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

export const makeManageDlt = (needs: Needs): ManageDlt => ({
  entities: makeManageRows(needs, entities),
  headers: makeManageRows(needs, headers),
  templates: makeManageRows(needs, templates),
})
