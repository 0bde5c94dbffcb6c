import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Key } from '../../keys/shapes.ts'
import { type KeyRow, listKeys } from '../../keys/store.ts'
import { page } from '../page.ts'
import { shownKey } from '../shown-key.ts'
import { type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'

const revokedShownMs = 90 * 86_400_000

const DashboardKey = Key.extend({ created_by: z.string().nullable() })

const show = (row: KeyRow): z.output<typeof DashboardKey> => ({ ...shownKey(row), created_by: row.created_by })

type Needs = { db: Db; clock: Clock }

export const dashboardKeyRoutes = ({ db, clock }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/api-keys',
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(DashboardKey) },
    handle: async ({ session, query }) => {
      const revokedSince = new Date(clock.millis() - revokedShownMs)
      const rows = await db.rows(listKeys, { orgId: session.orgId, revokedSince, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, show) }
    },
  }),
]
