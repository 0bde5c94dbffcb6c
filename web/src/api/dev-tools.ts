/** Calls the development tools. They are no routes of the dashboard, so their types are written here. */
import { askJson } from './send.ts'

export type OutboxEntry = {
  id: string
  channel: 'email' | 'sms'
  message_id: string | null
  from: string
  to: string[]
  subject: string | null
  html: string | null
  text: string | null
  raw: string | null
  body: string | null
  at: string
}

const ask = <T>(path: string, body?: unknown): Promise<T> => {
  const headers = { 'content-type': 'application/json' }
  const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
  return askJson(`/api/dev/${path}`, init)
}

export const readOutbox = (channel: string, to: string): Promise<{ data: OutboxEntry[] }> =>
  ask(`outbox?${new URLSearchParams({ channel, to })}`)

export const readOutboxEntry = async (which: { id: string } | { message_id: string }): Promise<OutboxEntry | null> =>
  (await ask<{ data: OutboxEntry[] }>(`outbox?${new URLSearchParams(which)}`)).data[0] ?? null

export const moveClock = (change: { advance_seconds: number } | { reset: true }): Promise<{ now: string }> =>
  ask('clock', change)

export const runTask = (task: string): Promise<{ counts: Record<string, number> }> => ask('run', { task })

export const tasks = [
  'scheduler',
  'webhooks',
  'analytics',
  'domains',
  'status_poll',
  'usage',
  'redaction',
  'retention',
  'billing',
  'deletions',
  'reconcile',
  'long_sms',
]
