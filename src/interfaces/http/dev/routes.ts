/** Development tools under /api/dev. Only clients on this machine can use them, and production does not have them. */
import { z } from 'zod'
import { plans } from '../../../customers/orgs/plans.ts'
import type { PlayPayments } from '../../../people/billing/play-payments.ts'
import type { MovableClock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isId } from '../../../platform/ground/ids.ts'
import type { ReadOutbox } from '../../../providers/outbox/read.ts'
import { dkimStatusOf, reportable, type SimulateDomain } from '../../../senders/domains/simulate-domain.ts'
import { type SimulateDlt, simulatedDltStatuses } from '../../../senders/sms/dlt/simulate-dlt.ts'
import {
  type SimulatedStatus,
  type SimulateRegistration,
  simulatedStatuses,
} from '../../../senders/sms/simulate-registration.ts'
import type { SimulateReport } from '../../../sending/messages/report-by-hand.ts'
import type { Tasks } from '../../worker/recurring.ts'
import { malformed } from '../envelope.ts'
import { byMachine, defineRoute, type Route } from '../route.ts'
import { devPost } from './dev-route.ts'
import { type InboundToolNeeds, inboundTools } from './inbound-tools.ts'

const ClockBody = z.union([
  z.strictObject({ reset: z.literal(true) }),
  z.strictObject({ advance_seconds: z.number().min(0).max(3_200_000_000) }),
])

/** An empty parameter counts as absent. */
const optionalParam = <T>(schema: z.ZodType<T>) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional())

const storedText = z
  .string()
  .max(320)
  .regex(/^[^\0]*$/)

const OutboxQuery = z.strictObject({
  channel: optionalParam(z.enum(['email', 'sms'])),
  to: optionalParam(storedText),
  id: optionalParam(storedText),
  message_id: optionalParam(storedText),
  limit: optionalParam(
    z
      .string()
      .regex(/^\d{1,6}$/, 'Must be a whole number from 1 to 1000.')
      .transform(Number)
      .pipe(z.number().min(1).max(1000)),
  ),
})

const NotifyBody = z.strictObject({ message_id: z.string().max(100), outcome: z.string().min(1).max(100) })

const BillingBody = z.strictObject({ org_id: z.string().max(100), plan: z.enum(plans) })

const RegistryBody = z.strictObject({
  id: z.string().max(100),
  status: z.string().min(1).max(100),
  missing_fields: z.array(z.string().max(200)).max(100).optional(),
  reason: z.string().max(1_000).nullable().optional(),
})

/** The whole registry can only be switched on and off. */
const simulatedStatusOf = (id: string, status: string): SimulatedStatus => {
  const accepted: readonly string[] = id === '*' ? ['unreachable', 'reachable'] : simulatedStatuses
  if (!accepted.includes(status)) throw malformed(`Must be one of: ${accepted.join(', ')}.`, ['status'])
  return status as SimulatedStatus
}

const simulateDltReport = async (simulate: SimulateDlt, given: z.output<typeof RegistryBody>) => {
  const { id, missing_fields: missingFields = null, reason = null } = given
  const status = simulatedDltStatuses.find((name) => name === given.status)
  if (!status) throw malformed(`Must be one of: ${simulatedDltStatuses.join(', ')}.`, ['status'])
  if (!(await simulate.set({ id, status, missingFields, reason }))) throw new Failure('NOT_FOUND')
  return { id, status }
}

/** Well before five-digit years, which timestamps, cursors and ids cannot represent. */
const lastInstant = Date.UTC(9000, 0)

type Needs = InboundToolNeeds & {
  clock: MovableClock
  /** Stores the new offset, so that it survives a restart. */
  keepOffset: (offsetMs: number) => Promise<void>
  tasks: Tasks
  readOutbox: ReadOutbox
  notify: SimulateReport
  simulateDomain: SimulateDomain
  simulateRegistration: SimulateRegistration
  simulateDlt: SimulateDlt
  /** Undefined with another payment provider than the local one, whose callbacks cannot be signed here. */
  playPayments?: PlayPayments | undefined
}

export const devRoutes = (needs: Needs): Route[] => {
  const { clock, keepOffset, tasks, readOutbox, notify, playPayments } = needs
  const { simulateDomain, simulateRegistration, simulateDlt } = needs
  const RunBody = z.strictObject({ task: z.enum(Object.keys(tasks)) })

  return [
    devPost('/clock', ClockBody, async (change) => {
      if ('reset' in change) clock.reset()
      else {
        const milliseconds = change.advance_seconds * 1000
        if (clock.millis() + milliseconds > lastInstant) {
          throw malformed('The clock cannot move past the year 9000. Advance it by less.', ['advance_seconds'])
        }
        clock.advance(milliseconds)
      }
      await keepOffset(clock.offset())
      return { now: clock.now().toISOString() }
    }),

    defineRoute('GET', '/api/dev/outbox', byMachine, {
      hidden: true,
      query: OutboxQuery,
      responses: { 200: z.unknown() },
      handle: async ({ query: { limit = 50, message_id: messageId, ...filters } }) => ({
        status: 200,
        body: { data: await readOutbox({ ...filters, messageId, limit }) },
      }),
    }),

    devPost('/notify', NotifyBody, async ({ message_id, outcome }) => {
      const done = isId('message', message_id) ? await notify(message_id, outcome) : 'no message'
      if (done === 'no message') throw new Failure('NOT_FOUND')
      if (done === 'no outcome') {
        throw malformed('Must be one of: delivered, hard_bounce, soft_bounce, complaint.', ['outcome'])
      }
      return { message_id, outcome }
    }),

    devPost('/registry', RegistryBody, async (given) => {
      const { id, status, missing_fields = null, reason = null } = given
      if (simulateDlt.accepts(id)) return simulateDltReport(simulateDlt, given)
      if (simulateRegistration.accepts(id)) {
        const report = { id, status: simulatedStatusOf(id, status), missingFields: missing_fields, reason }
        if (!(await simulateRegistration.set(report))) throw new Failure('NOT_FOUND')
        return { id, status }
      }
      if (!isId('domain', id)) throw new Failure('NOT_FOUND')
      const dkim = dkimStatusOf(status)
      if (!dkim) throw malformed(`Must be one of: ${reportable.join(', ')}.`, ['status'])
      if (!(await simulateDomain(id, dkim))) throw new Failure('NOT_FOUND')
      return { id, status: dkim }
    }),

    ...inboundTools(needs),
    ...(playPayments
      ? [
          devPost('/billing', BillingBody, async ({ org_id, plan }) => {
            if (!isId('org', org_id) || !(await playPayments.pay(org_id, plan))) throw new Failure('NOT_FOUND')
            return { org_id, plan }
          }),
        ]
      : []),
    devPost('/run', RunBody, async ({ task }) => ({ task, counts: await tasks[task]?.run() })),
  ]
}
