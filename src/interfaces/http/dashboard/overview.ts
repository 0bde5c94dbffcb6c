/** /api/internal/overview: what the first page of the dashboard shows, in one call. */
import { z } from 'zod'
import type { ReadAnalytics } from '../../analytics/read-analytics.ts'
import { Analytics } from '../../analytics/shapes.ts'
import { type Figure, figures } from '../../analytics/store.ts'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { readCondition } from '../../overview/store.ts'
import { monthOf } from '../../usage/periods.ts'
import type { ReadUsage } from '../../usage/read.ts'
import { UsageReport } from '../../usage/shapes.ts'
import { Webhook } from '../../webhooks/shapes.ts'
import { shownWebhook } from '../shown-webhook.ts'
import { type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'
import { environmentFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'

const count = z.int().min(0)
const Counts = z.strictObject(
  Object.fromEntries(figures.map((figure) => [figure, count])) as Record<Figure, typeof count>,
)

/** In the order in which a new org does them. */
const steps = ['create_api_key', 'verify_domain', 'verify_sms_sender', 'send_message', 'add_webhook'] as const

const Overview = z.strictObject({
  /** By the UTC day on which a message was sent. At least the last 24 hours, at most the last 48. */
  today_and_yesterday: Counts,
  last_30_days: Counts,
  /** Each of the last 30 days, the oldest first. */
  days: Analytics.shape.data,
  open_setup_steps: z.array(z.enum(steps)),
  usage: UsageReport,
  unhealthy_webhooks: z.array(Webhook),
  pending_registrations: z.strictObject({ brands: count, campaigns: count, phone_numbers: count, dlt: count }),
})

const shownUnhealthy = 20
const days = 30

type Counted = Record<Figure, number>

const sumOf = (rows: Counted[]): Counted => {
  const total = (figure: Figure): number => rows.reduce((sum, row) => sum + row[figure], 0)
  return Object.fromEntries(figures.map((figure) => [figure, total(figure)])) as Counted
}

type Needs = { db: Db; clock: Clock; analytics: ReadAnalytics; usage: ReadUsage }

export const overviewRoutes = ({ db, clock, analytics, usage }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/overview',
    gate: 'requireSession',
    /** Live unless it says otherwise. */
    query: z.object({ environment: environmentFilter }),
    responses: { 200: Overview },
    handle: async ({ session, query }) => {
      const scope = scopeOf(session, query.environment)
      const { orgId, tenantId, environment } = scope
      const period = monthOf(clock.now())
      const [{ data }, used, condition] = await Promise.all([
        analytics(scope, { days }),
        usage({ orgId, tenantId, environment, period, byKey: false }),
        db.rows(readCondition, { orgId, maxUnhealthy: shownUnhealthy }),
      ])
      const [setup] = condition
      return {
        status: 200,
        body: {
          today_and_yesterday: sumOf(data.slice(-2)),
          last_30_days: sumOf(data),
          days: data,
          open_setup_steps: steps.filter((step) => !setup?.[step]),
          usage: used,
          unhealthy_webhooks: condition.filter((row) => row.id !== null).map(shownWebhook),
          pending_registrations: setup?.pending,
        },
      }
    },
  }),
]
