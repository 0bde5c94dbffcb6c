/** The database alone: PostgreSQL's load tool runs the transaction of `plain-fastify`. */
import { execFile } from 'node:child_process'
import { access, constants, glob, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { percentile } from '../figures.ts'
import type { Contender, Skipped } from '../harness.ts'
import type { Sample } from '../results.ts'

const run = promisify(execFile)

const tables = `
  create table bench_pgbench_rows (
    id uuid primary key, org_id text not null, value text not null, created_at timestamptz not null);
  create table bench_pgbench_counters (
    org_id text not null, period text not null, used bigint not null, primary key (org_id, period))`

const script = `\\set n random(1, 999999999999)
begin;
insert into bench_pgbench_rows (id, org_id, value, created_at)
  values (gen_random_uuid(), 'org_bench', 'user' || :n || '@example.com', now());
insert into bench_pgbench_counters (org_id, period, used) values ('org_bench', to_char(now(), 'YYYY-MM'), 1)
  on conflict (org_id, period) do update set used = bench_pgbench_counters.used + 1;
commit;
`

/** Finds pgbench in PATH, else the newest version that Debian installed. */
const findPgbench = async (): Promise<string | undefined> => {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'pgbench'))
  const installed: string[] = []
  for await (const path of glob('/usr/lib/postgresql/*/bin/pgbench')) installed.push(path)
  candidates.push(...installed.sort((a, b) => b.localeCompare(a, 'en', { numeric: true })))
  for (const candidate of candidates) {
    const usable = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return candidate
  }
  return undefined
}

/** Reads the per-transaction log: client, number, duration in microseconds, script, end in seconds and microseconds. */
export const readTransactions = (log: string): { endMs: number; tookMs: number }[] =>
  log
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [, , tookUs, , seconds, micros] = line.split(' ')
      const transaction = {
        endMs: Number(seconds) * 1000 + Number(micros) / 1000,
        tookMs: Number(tookUs) / 1000,
      }
      if (Number.isNaN(transaction.endMs + transaction.tookMs)) {
        throw new Error(`pgbench logged an unfinished transaction: ${line}`)
      }
      return transaction
    })

/** Measures like the HTTP contenders: transactions that ended after the warm-up, within the measured time. */
export const sampleOf = (
  transactions: { endMs: number; tookMs: number }[],
  warmMs: number,
  measureMs: number,
): Sample | Skipped => {
  let [began, ended] = [Infinity, 0]
  for (const { endMs, tookMs } of transactions) {
    began = Math.min(began, endMs - tookMs)
    ended = Math.max(ended, endMs)
  }
  const from = began + warmMs
  const to = from + measureMs
  if (ended < to) return { skipped: `pgbench was busy connecting and ran for less than ${warmMs + measureMs} ms` }
  const counted = transactions.filter(({ endMs }) => endMs >= from && endMs < to)
  // With hundreds of sessions waiting for one row lock, the first one can take longer than a quick round.
  if (counted.length === 0) return { skipped: `no transaction ended within the measured ${measureMs} ms` }
  const latencies = Float64Array.from(counted, ({ tookMs }) => tookMs).sort()
  return {
    perSecond: (counted.length * 1000) / measureMs,
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
  }
}

/** A generous estimate of the connection time, which pgbench includes in its run time. */
const connectingMs = (clients: number) => 500 + clients * 6

/** Connections that idle contenders may keep open. */
const spareConnections = 50

const connectionsAllowed = async (url: string): Promise<number> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(tables)
    const { rows } = await client.query<{ max: number }>(`select current_setting('max_connections')::int as max`)
    return rows[0]!.max - spareConnections
  } finally {
    await client.end()
  }
}

/** Every user of the machine can read command lines, so the password is passed in the environment. */
const withoutPassword = (url: string) => {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  address.password = ''
  return { address: address.href, password }
}

export const pgbench: Contender = {
  name: 'pgbench',
  async start(resources) {
    const program = await findPgbench()
    if (!program) return { skipped: 'pgbench is not installed' }
    const { url } = await resources.database()
    const allowed = await connectionsAllowed(url)
    const { address, password } = withoutPassword(url)
    const folder = await mkdtemp(join(resources.folder, 'pgbench-'))
    const scriptFile = join(folder, 'record.sql')
    await writeFile(scriptFile, script)
    return {
      async take({ clients, warmMs, measureMs }) {
        if (clients > allowed) {
          return { skipped: `the database server allows only ${allowed} connections` }
        }
        const logs = await mkdtemp(join(folder, 'log-'))
        const threads = String(Math.min(2, clients))
        const seconds = String(Math.ceil((connectingMs(clients) + warmMs + measureMs) / 1000))
        const options = ['-n', '-M', 'prepared', '-c', String(clients), '-j', threads, '-T', seconds]
        // pgbench writes its log into the working directory, with this prefix.
        await run(program, [...options, '-f', scriptFile, '-l', '--log-prefix=transactions', address], {
          cwd: logs,
          env: { ...process.env, PGPASSWORD: password },
        })
        const files = await readdir(logs)
        const texts = await Promise.all(files.map((file) => readFile(join(logs, file), 'utf8')))
        await rm(logs, { recursive: true })
        return sampleOf(texts.flatMap(readTransactions), warmMs, measureMs)
      },
      stop: async () => {},
    }
  },
}
