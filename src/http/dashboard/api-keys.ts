import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { type KeyRow, listKeys } from '../../keys/store.ts'
import { page, pageQuery } from '../page.ts'
import { readQuery, validate } from '../read-request.ts'
import { shownKey } from '../shown-key.ts'
import type { SessionGates } from './session-gates.ts'

/** Unlike /api/v1, an invalid limit falls back to the default, and one above the maximum is lowered to it. */
const Query = z.object({
  limit: z
    .string()
    .optional()
    .transform((text) => (text && /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), 100) : 20)),
  cursor: pageQuery.shape.cursor,
})

const revokedShownMs = 90 * 86_400_000

const show = (row: KeyRow) => ({ ...shownKey(row), created_by: row.created_by })

type Needs = { db: Db; clock: Clock; gates: SessionGates }

export const registerDashboardKeys = (app: FastifyInstance, { db, clock, gates }: Needs): void => {
  app.get('/api/internal/api-keys', async (request, reply) => {
    const member = await gates.requireSession(request)
    const query = validate(Query, readQuery(request.query))
    const since = new Date(clock.millis() - revokedShownMs)
    const rows = await db.rows(listKeys, { orgId: member.orgId, revokedSince: since, ...keysetOf(query) })
    return reply.send(page(rows, query.limit, show))
  })
}
