/** Reads the process, its metrics and its tables at short intervals, and combines them into points. */
import { readdir, readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { median, quantile } from './growth.ts'
import type { Journal } from './journal.ts'
import type { SoakService } from './service.ts'

export type Latency = { p50: number; p99: number; count: number }
export type TableSize = { table: string; heapBytes: number; indexBytes: number; live: number; dead: number }

export type SoakPoint = {
  /** Seconds since the start of the load, at the end of the point. */
  at: number
  rssBytes: number | undefined
  /** The least of the samples: what the last collections left. */
  heapBytes: number | undefined
  handles: number | undefined
  /** The longest wait in seconds, by queue and state. */
  queues: Record<string, number>
  probe: Latency
  latencies: Record<string, Latency>
  errorsPerThousand: number
  tables: TableSize[]
}

type Sample = { rss: number; heap: number; handles: number; queues: Record<string, number> }

const tableSizes = `
  select root::text as table, sum(heap)::float8 as "heapBytes", sum(indexes)::float8 as "indexBytes",
    sum(live)::float8 as live, sum(dead)::float8 as dead
  from (
    select coalesce(pg_partition_root(relid), relid)::regclass as root, pg_table_size(relid) as heap,
      pg_indexes_size(relid) as indexes, n_live_tup as live, n_dead_tup as dead
    from pg_stat_user_tables
  ) as parts
  group by 1 order by 1`

export const readMetrics = (text: string): { heap: number; queues: Record<string, number> } => {
  const heap = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1])
  const queues: Record<string, number> = {}
  for (const [, queue, state, value] of text.matchAll(
    /^queue_oldest_seconds\{queue="(\w+)",state="(\w+)"\} (\S+)$/gm,
  )) {
    queues[`${queue} ${state}`] = Number(value)
  }
  return { heap, queues }
}

const residentBytes = async (pid: number): Promise<number> =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024

export const latencyOf = (milliseconds: number[]): Latency => {
  const sorted = milliseconds.toSorted((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), count: sorted.length }
}

export const makeSampler = (service: SoakService, journal: Journal) => {
  const agent = new Agent({ connections: 2, headersTimeout: 30_000 })
  let samples: Sample[] = []
  let probes: number[] = []
  let [requests, errors] = [0, 0]

  /** Skips times of faults and restarts: they are not what growth is judged by. */
  const sample = async (): Promise<void> => {
    const from = journal.now()
    try {
      const [rss, handles, metrics] = await Promise.all([
        residentBytes(service.pid()),
        readdir(`/proc/${service.pid()}/fd`).then((names) => names.length),
        request(`${service.url}/metrics`, { dispatcher: agent }).then(({ body }) => body.text()),
      ])
      if (!journal.isDisturbed(from, journal.now())) samples.push({ rss, handles, ...readMetrics(metrics) })
    } catch (error) {
      if (!journal.isDisturbed(from, journal.now())) journal.faults.push(`a sample failed: ${(error as Error).message}`)
    }
  }

  const probe = async (url: string): Promise<void> => {
    const from = journal.now()
    const answered = await request(url, { dispatcher: agent }).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode === 200
      },
      () => false,
    )
    const until = journal.now()
    if (answered && !journal.isDisturbed(from, until)) probes.push((until - from) * 1_000)
  }

  const latencies = (): Record<string, Latency> => {
    const calm = journal.calls.filter(({ disturbed }) => !disturbed)
    const byOperation = Object.groupBy(calm, ({ operation }) => operation)
    return Object.fromEntries(
      Object.entries(byOperation).map(([operation, calls = []]) => [operation, latencyOf(calls.map(({ ms }) => ms))]),
    )
  }

  const errorsPerThousand = (): number => {
    const seen = journal.errors.filter(({ disturbed }) => !disturbed).length
    const share = (1_000 * (seen - errors)) / Math.max(1, journal.requests - requests)
    ;[requests, errors] = [journal.requests, seen]
    return share
  }

  const queueAges = (): Record<string, number> => {
    const names = new Set(samples.flatMap(({ queues }) => Object.keys(queues)))
    return Object.fromEntries(
      [...names].map((name) => [name, Math.max(...samples.map(({ queues }) => queues[name] ?? 0))]),
    )
  }

  /** Ends the present point. */
  const point = async (): Promise<SoakPoint> => {
    const seen = samples.length > 0
    const ended: SoakPoint = {
      at: journal.now(),
      rssBytes: seen ? median(samples.map(({ rss }) => rss)) : undefined,
      heapBytes: seen ? Math.min(...samples.map(({ heap }) => heap)) : undefined,
      handles: seen ? median(samples.map(({ handles }) => handles)) : undefined,
      queues: queueAges(),
      probe: latencyOf(probes),
      latencies: latencies(),
      errorsPerThousand: errorsPerThousand(),
      tables: await service.sql<TableSize>(tableSizes).catch(() => []),
    }
    samples = []
    probes = []
    journal.calls = []
    return ended
  }

  return { sample, probe, point, close: () => agent.destroy() }
}

export type Sampler = ReturnType<typeof makeSampler>
