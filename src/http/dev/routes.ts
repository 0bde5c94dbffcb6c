/** Development tools under /api/dev. Only clients on this machine can use them, and production does not have them. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { dkimStatusOf, reportable, type SimulateDomain } from '../../domains/simulate-domain.ts'
import type { MovableClock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import { withRequestId } from '../../ground/request-context.ts'
import type { SimulateReport } from '../../messages/report-by-hand.ts'
import type { ReadOutbox } from '../../providers/outbox/read.ts'
import { type SimulateDlt, simulatedDltStatuses } from '../../senders/dlt/simulate-dlt.ts'
import {
  type SimulatedStatus,
  type SimulateRegistration,
  simulatedStatuses,
} from '../../senders/simulate-registration.ts'
import type { Tasks } from '../../worker/tasks.ts'
import { malformed } from '../envelope.ts'
import { validate } from '../read-request.ts'
import { fromThisMachine } from '../this-machine.ts'
import { type BillingToolNeeds, registerBillingTool } from './billing-tool.ts'
import { bodyOf } from './dev-body.ts'
import { type InboundToolNeeds, registerInboundTools } from './inbound-tools.ts'

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

type Needs = InboundToolNeeds &
  BillingToolNeeds & {
    clock: MovableClock
    /** Stores the new offset, so that it survives a restart. */
    keepOffset: (offsetMs: number) => Promise<void>
    tasks: Tasks
    readOutbox: ReadOutbox
    notify: SimulateReport
    simulateDomain: SimulateDomain
    simulateRegistration: SimulateRegistration
    simulateDlt: SimulateDlt
  }

export const registerDevTools = (app: FastifyInstance, needs: Needs): void => {
  const { clock, keepOffset, tasks, readOutbox, notify, simulateDomain, simulateRegistration, simulateDlt } = needs
  const RunBody = z.strictObject({ task: z.enum(Object.keys(tasks)) })

  app.register(
    async (dev) => {
      dev.addHook('onRequest', async (request) => {
        if (!fromThisMachine(request.raw)) throw new Failure('NOT_FOUND')
      })

      dev.post('/clock', async (request) => {
        const change = await bodyOf(ClockBody, request)
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
      })

      dev.get('/outbox', async (request) => {
        const { limit = 50, message_id: messageId, ...filters } = validate(OutboxQuery, request.query)
        return { data: await readOutbox({ ...filters, messageId, limit }) }
      })

      dev.post('/notify', async (request) => {
        const { message_id, outcome } = await bodyOf(NotifyBody, request)
        const done = isId('message', message_id) ? await notify(message_id, outcome) : 'no message'
        if (done === 'no message') throw new Failure('NOT_FOUND')
        if (done === 'no outcome') {
          throw malformed('Must be one of: delivered, hard_bounce, soft_bounce, complaint.', ['outcome'])
        }
        return { message_id, outcome }
      })

      dev.post('/registry', async (request) => {
        const given = await bodyOf(RegistryBody, request)
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
      })

      registerInboundTools(dev, needs)
      registerBillingTool(dev, needs)

      dev.post('/run', (request) =>
        withRequestId(request.id, async () => {
          const { task } = await bodyOf(RunBody, request)
          return { task, counts: await tasks[task]?.run() }
        }),
      )
    },
    { prefix: '/api/dev' },
  )
}
