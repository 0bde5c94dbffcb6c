/** Finds the registered ids that a message to India has to carry. */
import type { Db } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId } from '../../platform/ground/ids.ts'
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { type DltTemplateRow, findDltTemplate } from './store/sender-lookups.ts'

type DltIds = { entityId: string; templateId: string; content: string }

export const makeResolveDlt = ({ db, trusted }: { db: Db; trusted: () => boolean }) => {
  const rows = makeShortCache<{ row: DltTemplateRow | undefined }>({ trusted })

  /** Throws the error that explains why the template cannot be used. */
  const resolve = (
    { orgId, environment }: Pick<Scope, 'orgId' | 'environment'>,
    id: string | null,
  ): MaybePromise<DltIds> => {
    if (id === null) throw new Failure('DLT_TEMPLATE_REQUIRED')
    if (!isId('dltTemplate', id)) throw new Failure('DLT_TEMPLATE_NOT_FOUND')
    const found = rows.through(`${orgId} ${id}`, orgId, async () => ({
      row: await db.row(findDltTemplate, { orgId, id }),
    }))
    return andThen(found, ({ row }) => {
      // A test key's registration was only simulated.
      if (!row || (environment === 'live' && row.environment === 'test')) throw new Failure('DLT_TEMPLATE_NOT_FOUND')
      if (row.status !== 'approved') throw new Failure('DLT_TEMPLATE_NOT_APPROVED')
      if (row.provider_template_id === null) throw new Failure('DLT_TEMPLATE_NOT_PROVISIONED')
      return { entityId: row.entity_id, templateId: row.provider_template_id, content: row.content }
    })
  }
  return Object.assign(resolve, { forgetOrg: rows.forgetOrg, forgetAll: rows.clear })
}

export type ResolveDlt = ReturnType<typeof makeResolveDlt>
