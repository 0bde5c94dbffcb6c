import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { type KeyRow, listKeys } from '../../keys/store.ts'
import { page, pageQuery } from '../page.ts'
import { readQuery, validate } from '../validate.ts'
import type { DashboardDoor } from './door.ts'

/** Here a limit that makes no sense is the default, and one past the maximum is the maximum. */
const Query = z.object({
  limit: z
    .string()
    .optional()
    .transform((text) => (text && /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), 100) : 20)),
  cursor: pageQuery.shape.cursor,
})

const revokedShownMs = 90 * 86_400_000

const show = (row: KeyRow) => ({
  id: row.id,
  name: row.name,
  environment: row.environment,
  prefix: row.prefix,
  last_four: row.last_four,
  scopes: row.scopes,
  tenant_id: row.tenant_id,
  project_id: row.project_id,
  allowed_domain_ids: row.allowed_domain_ids,
  allowed_cidrs: row.allowed_cidrs,
  rate_limit_per_minute: row.rate_limit_per_minute,
  expires_at: row.expires_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  revoked_at: row.revoked_at?.toISOString() ?? null,
  created_by: row.created_by,
})

type Needs = { db: Db; clock: Clock; door: DashboardDoor }

export const registerDashboardKeys = (app: FastifyInstance, { db, clock, door }: Needs): void => {
  app.get('/api/internal/api-keys', async (request, reply) => {
    const member = await door.requireSession(request)
    const { limit, cursor } = validate(Query, readQuery(request.query))
    const since = new Date(clock.millis() - revokedShownMs)
    const position = [cursor?.createdAt ?? null, cursor?.id ?? null, limit + 1] as const
    const rows = await db.rows(listKeys, member.orgId, since, ...position)
    return reply.send(page(rows, limit, show))
  })
}
