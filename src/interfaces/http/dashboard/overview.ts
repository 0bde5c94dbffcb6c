/**
 * /api/internal/overview: what the first page of the dashboard shows, in one call. /api/internal/first-steps: how far an org
 * is with its setup. What was done once stays done.
 */
import { z } from 'zod'
import { monthOf } from '../../../customers/usage/periods.ts'
import type { ReadUsage } from '../../../customers/usage/read.ts'
import { UsageReport } from '../../../customers/usage/shapes.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { ReadAnalytics } from '../../../reports/analytics/read-analytics.ts'
import { Analytics } from '../../../reports/analytics/shapes.ts'
import { type Figure, figures } from '../../../reports/analytics/store.ts'
import type { ReadSetup } from '../../../reports/overview/read-setup.ts'
import { firstSteps } from '../../../reports/overview/store.ts'
import { sandboxDomain } from '../../../senders/domains/sandbox-domain.ts'
import { Webhook } from '../../../webhooks/shapes.ts'
import { scopeOf } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { webhooks } from '../shown-webhook.ts'
import { environmentFilter } from './list-query.ts'

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

const days = 30

type Counted = Record<Figure, number>

const sumOf = (rows: Counted[]): Counted => {
  const total = (figure: Figure): number => rows.reduce((sum, row) => sum + row[figure], 0)
  return Object.fromEntries(figures.map((figure) => [figure, total(figure)])) as Counted
}

type Needs = { clock: Clock; analytics: ReadAnalytics; usage: ReadUsage; setup: ReadSetup }

export const overviewRoutes = ({ clock, analytics, usage, setup }: Needs): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/overview', bySession('requireSession'), {
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
        setup.condition(orgId),
      ])
      return ok({
        today_and_yesterday: sumOf(data.slice(-2)),
        last_30_days: sumOf(data),
        days: data,
        open_setup_steps: steps.filter((step) => !condition.setup[step]),
        usage: used,
        unhealthy_webhooks: condition.unhealthy.map(webhooks.show),
        pending_registrations: condition.pending,
      })
    },
  }),
]

const FirstSteps = z.strictObject({
  /** In the order in which a new org does them. */
  done: z.array(z.enum(firstSteps)),
  /** A domain that the first message can be sent from. */
  sender: z.string(),
  /** Whether the sender is the sandbox, which every org has. */
  sandbox: z.boolean(),
  /** Whether domains were added and none is verified. */
  domain_waits: z.boolean(),
})

type FirstStepNeeds = { setup: ReadSetup; serviceDomain: string }

export const firstStepRoutes = ({ setup, serviceDomain }: FirstStepNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/first-steps', bySession('requireSession'), {
    responses: { 200: FirstSteps },
    handle: async ({ session }) => {
      const row = await setup.firstSteps(session.orgId)
      return ok({
        done: firstSteps.filter((step) => row[step]),
        sender: row.domain ?? sandboxDomain(row.slug, serviceDomain),
        sandbox: row.domain === null,
        domain_waits: row.domain_waits,
      })
    },
  }),
]
