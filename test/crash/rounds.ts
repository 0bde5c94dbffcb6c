/** Kills parts of the service at random moments while clients send and repeat, and judges the result. */
import { setTimeout as wait } from 'node:timers/promises'
import { makeClients } from './clients.ts'
import { type Cluster, type Part, startCluster } from './cluster.ts'
import { type Judged, judge } from './judge.ts'
import { type Audience, makeOperations } from './operations.ts'
import { readStored, settle } from './settle.ts'
import { startSinks } from './sinks.ts'

export type CrashOptions = {
  rounds: number
  clients: number
  /** Only these of the sets in `killed`, by a part that they contain. */
  only?: string | undefined
  report: (line: string) => void
}

export type CrashResult = Judged & {
  /** How often each set of parts was killed. */
  kills: Record<string, number>
  responses: Record<string, number>
  chain: string
  tookSeconds: number
}

/** The supervisor of the embedded server gives up when it dies more than five times in a minute. */
const postgresKillsApartMs = 13_000

/** What is killed in turn. */
export const killed: readonly (readonly Part[])[] = [
  ['api-1'],
  ['worker-1'],
  ['postgres'],
  ['api-1', 'api-2'],
  ['postgres', 'api-2'],
  ['worker-1', 'worker-2'],
  ['api-2'],
  ['postgres', 'api-1', 'api-2', 'worker-1', 'worker-2'],
]

const contactsInAudience = 8

const askOwn = async (cluster: Cluster, path: string, body: object): Promise<{ id: string }> => {
  const answer = await fetch(`${cluster.urls[0]}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cluster.firstRun.keys.live}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { id: string }
}

const makeAudiences = async (cluster: Cluster, count: number): Promise<Audience[]> => {
  await askOwn(cluster, '/templates', {
    channel: 'email',
    slug: 'crash-news',
    name: 'News',
    subject: 'News',
    text: 'News. {{unsubscribe_url}}',
  })
  const audiences: Audience[] = []
  for (let n = 0; n < count; n++) {
    const { id } = await askOwn(cluster, '/audiences', { name: `Audience ${n}` })
    const recipients = Array.from({ length: contactsInAudience }, (_, i) => `contact${n}-${i}@reader.test`)
    for (const email of recipients) {
      const contact = await askOwn(cluster, '/contacts', { email })
      await askOwn(cluster, `/audiences/${id}/contacts`, { contact_id: contact.id })
    }
    audiences.push({ id, recipients })
  }
  return audiences
}

const countKills = (kills: Record<string, number>, parts: readonly Part[]): void => {
  const name = parts.join(' + ')
  kills[name] = (kills[name] ?? 0) + 1
}

export const crashRounds = async ({ rounds, clients: count, only, report }: CrashOptions): Promise<CrashResult> => {
  const sets = killed.filter((parts) => only === undefined || parts.some((part) => part.startsWith(only)))
  if (sets.length === 0) throw new Error(`--only ${only} names no part: use api, worker or postgres`)
  const startedAt = performance.now()
  const sinks = await startSinks()
  const cluster = await startCluster(sinks.env)
  const clients = makeClients(cluster.urls, cluster.firstRun.keys.live)
  const kills: Record<string, number> = {}
  let lastPostgresKill = Number.NEGATIVE_INFINITY
  try {
    await askOwn(cluster, '/webhooks', { url: sinks.hookUrl, events: ['message.sent'] })
    const audiences = await makeAudiences(cluster, Math.max(4, rounds))
    const { stop } = clients.drive(makeOperations(audiences), count)
    for (let round = 0; round < rounds; round++) {
      const parts = sets[round % sets.length] as readonly Part[]
      await wait(500 + Math.random() * 2_500)
      if (parts.includes('postgres')) {
        await wait(Math.max(0, lastPostgresKill + postgresKillsApartMs - performance.now()))
        lastPostgresKill = performance.now()
      }
      await cluster.kill(parts)
      countKills(kills, parts)
      await cluster.whole()
      const acknowledged = clients.outcomes.filter(({ result }) => result === 'acknowledged').length
      report(
        `round ${round + 1} of ${rounds}: killed ${parts.join(', ')}; ${acknowledged} requests acknowledged so far`,
      )
    }
    await wait(1_000)
    report('waiting until every client knows its result')
    await stop()
    await settle(cluster, clients, sinks)
    const verified = await cluster.command(['ops', 'audit', 'verify', cluster.firstRun.org.id])
    const { outcomes, responses } = clients
    const stored = await readStored(cluster)
    const judged = judge({ outcomes, arrivals: sinks.arrivals, delivered: sinks.deliveries, stored })
    if (verified.code !== 0) judged.faults.push(`audit: the chain is not intact: ${verified.output}`)
    const chain = verified.code === 0 ? 'intact' : 'not intact'
    const tookSeconds = Math.round((performance.now() - startedAt) / 1_000)
    return { ...judged, kills, responses, chain, tookSeconds }
  } finally {
    await clients.close()
    await cluster.close()
    await sinks.close()
  }
}
