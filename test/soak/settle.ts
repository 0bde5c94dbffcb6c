/** After the load: sends what is still scheduled, and compares the final state with the acknowledgements. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Hooks } from './hooks.ts'
import type { Journal, Way } from './journal.ts'
import type { Relay } from './relay.ts'

export type Settled = {
  acknowledged: Record<string, number>
  lost: string[]
  sentTwice: string[]
  /** Messages without a `message.sent` at the endpoint that always works. */
  unannounced: string[]
}

type MessageRow = { id: string; status: string }

export type SettleNeeds = {
  journal: Journal
  relay: Relay
  hooks: Hooks
  sql: <R>(text: string) => Promise<R[]>
  /** Calls a development tool. */
  tool: (path: string, body: object) => Promise<unknown>
}

const reached = new Set(['sent', 'delivered'])
/** Longer than the last retry of a message and than the longest schedule. */
const stepSeconds = 240
const maxSteps = 40

const waiting = "select id, status from messages where status in ('scheduled', 'sending') limit 1"

/** Moves the clock in steps shorter than a claim, so that no claim of the running service expires. */
const sendScheduled = async ({ sql, tool }: SettleNeeds): Promise<void> => {
  for (let step = 0; step < maxSteps; step++) {
    await tool('clock', { advance_seconds: stepSeconds })
    await tool('run', { task: 'scheduler' })
    if ((await sql<MessageRow>(waiting)).length === 0) break
  }
  await tool('run', { task: 'webhooks' })
  // The last deliveries are stored as attempted a moment after their receiver has responded.
  await wait(2_000)
}

export const findLosses = (
  acknowledged: ReadonlyMap<string, Way>,
  statuses: ReadonlyMap<string, string>,
  arrived: ReadonlyMap<string, number>,
  announced: ReadonlySet<string>,
): Settled => {
  const settled: Settled = { acknowledged: {}, lost: [], sentTwice: [], unannounced: [] }
  for (const [id, way] of acknowledged) {
    settled.acknowledged[way] = (settled.acknowledged[way] ?? 0) + 1
    const status = statuses.get(id)
    if (status === undefined || !reached.has(status)) {
      settled.lost.push(`${way} ${id} is ${status ?? 'missing'}`)
    } else if (way !== 'sms' && !arrived.has(id)) {
      settled.lost.push(`${way} ${id} is ${status} and never reached the relay`)
    } else if (!announced.has(id)) {
      settled.unannounced.push(`${way} ${id}`)
    }
    if ((arrived.get(id) ?? 0) > 1) settled.sentTwice.push(`${way} ${id}`)
  }
  return settled
}

export const settle = async (needs: SettleNeeds): Promise<Settled> => {
  await sendScheduled(needs)
  const { journal, relay, hooks, sql } = needs
  const rows = await sql<MessageRow>('select id, status from messages')
  const statuses = new Map(rows.map(({ id, status }) => [id, status]))
  return findLosses(journal.acknowledged, statuses, relay.arrived, hooks.sent)
}
