import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTidings, tidings } from '../service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'

/** The parts of the service run as separate processes on one PostgreSQL, as in a cluster. */
let database: TestDatabase
let folder: string
const running = new Set<ChildProcess>()

beforeAll(async () => {
  database = await makeTestDatabase('empty')
  folder = await mkdtemp(join(tmpdir(), 'tidings-processes-'))
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const start = (part: string, env: Record<string, string> = {}): ChildProcess => {
  const child = startTidings([part], { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0', ...env })
  running.add(child)
  return child
}

const untilPrints = (child: ChildProcess, pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ''
    const onData = (chunk: Buffer) => {
      output += chunk
      const found = output.match(pattern)
      if (found) resolve(found[1] ?? found[0])
    }
    child.stdout?.on('data', onData)
    child.stderr?.on('data', onData)
    child.once('exit', (code) => reject(new Error(`exited with ${code} before it printed ${pattern}: ${output}`)))
  })

const stopped = async (child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> => {
  child.kill(signal)
  const [code] = await once(child, 'exit')
  running.delete(child)
  return code
}

const ready = /ready at (http:\S+)/

test('Two API processes and a worker share one database, and the first start creates one org', async () => {
  const files = [join(folder, 'one.json'), join(folder, 'two.json')]
  const apis = files.map((file) => start('api', { FIRST_RUN_FILE: file }))
  const urls = await Promise.all(apis.map((api) => untilPrints(api, ready)))
  const worker = start('worker', { LOG_LEVEL: 'debug' })
  await expect
    .poll(() => database.sql('select name, cron from pgboss.schedule').catch(() => []))
    .toEqual(
      expect.arrayContaining([
        { name: 'domains', cron: '* * * * *' },
        { name: 'retention', cron: '0 3 * * *' },
      ]),
    )

  expect(await database.sql('select count(*)::int as n from orgs')).toEqual([{ n: 1 }])
  const written = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => undefined)))
  const credentials = JSON.parse(written.find((text) => text !== undefined) as string)
  expect(written.filter((text) => text !== undefined)).toHaveLength(1)
  const file = files[written.findIndex((text) => text !== undefined)] as string
  expect((await stat(file)).mode & 0o777).toBe(0o600)

  for (const url of urls) {
    const answer = await fetch(`${url}/api/v1/suppressions`, {
      headers: { authorization: `Bearer ${credentials.keys.live}` },
    })
    expect(answer.status).toBe(200)
  }
  expect(await Promise.all([...apis, worker].map((child) => stopped(child, 'SIGTERM')))).toEqual([0, 0, 0])
})

test('A worker serves health and metrics on WORKER_PORT, and exits when that port is in use', async () => {
  const worker = start('worker', { WORKER_PORT: '0', METRICS_TOKEN: 'a-long-enough-token' })
  const port = await untilPrints(worker, /"port":(\d+).*"worker port open"/)
  const status = async (path: string, headers = {}) =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status
  expect(await status('/healthz')).toBe(200)
  await expect.poll(() => status('/readyz')).toBe(200)
  expect(await status('/metrics')).toBe(404)
  expect(await status('/metrics', { authorization: 'Bearer a-long-enough-token' })).toBe(200)

  const second = await tidings(['worker'], {
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    WORKER_PORT: port,
    LOG_LEVEL: 'silent',
  })
  expect(second).toEqual({
    code: 1,
    stdout: '',
    stderr: `Port ${port} on 127.0.0.1 is in use. Set WORKER_PORT to a free port, or stop the program that uses it.\n`,
  })
  expect(await stopped(worker, 'SIGTERM')).toBe(0)
})

test('A request in progress gets its response while the service stops', async () => {
  const api = start('api')
  const url = new URL(await untilPrints(api, ready))
  const { stdout } = await tidings(['ops', 'org', 'create', '--name', 'Drain', '--json'], {
    DATABASE_URL: database.url,
  })
  const { keys } = JSON.parse(stdout)
  const body = '{"channel":"email","value":"drain@example.com"}'
  const socket = connect(Number(url.port), url.hostname)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write(
    `POST /api/v1/suppressions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.live}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  )
  // Once the use of the key is recorded, the request has passed the gates and waits for the rest of its body.
  const used = () =>
    database.sql('select 1 from api_keys where prefix = $1 and last_used_at is not null', [keys.live.slice(0, 13)])
  await expect.poll(async () => (await used()).length).toBe(1)
  const ended = stopped(api, 'SIGTERM')
  await expect
    .poll(() =>
      fetch(url).then(
        () => 'open',
        () => 'closed',
      ),
    )
    .toBe('closed')
  socket.write(body.slice(10))
  expect(await ended).toBe(0)
  expect(answer).toContain('HTTP/1.1 201 Created')
  expect(answer).toContain('drain@example.com')
  socket.destroy()
})

test('Acknowledged rows survive kill -9', async () => {
  const api = start('api')
  const url = await untilPrints(api, ready)
  const { stdout } = await tidings(['ops', 'org', 'create', '--name', 'Crash', '--plan', 'enterprise', '--json'], {
    DATABASE_URL: database.url,
  })
  const { keys, org } = JSON.parse(stdout)
  const acknowledged: string[] = []
  let n = 0
  const sender = async (): Promise<void> => {
    for (;;) {
      const value = `crash${n++}@example.com`
      const answer = await fetch(`${url}/api/v1/suppressions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.live}`, 'content-type': 'application/json' },
        body: JSON.stringify({ channel: 'email', value }),
      }).catch(() => undefined)
      if (answer?.status !== 201) return
      acknowledged.push(value)
    }
  }
  const senders = Array.from({ length: 20 }, sender)
  await expect.poll(() => acknowledged.length).toBeGreaterThan(200)
  await stopped(api, 'SIGKILL')
  await Promise.all(senders)
  const rows = await database.sql<{ value: string }>('select value from suppressions where org_id = $1', [org.id])
  const stored = new Set(rows.map((row) => row.value))
  expect(acknowledged.filter((value) => !stored.has(value))).toEqual([])
})

const productionEnv = {
  NODE_ENV: 'production',
  SERVICE_DOMAIN: 'mail.example.com',
  MASTER_KEY: randomBytes(32).toString('base64'),
  EMAIL_PROVIDER: 'smtp',
  SMTP_URL: 'smtp://127.0.0.1:1',
  BASE_URL: 'https://api.example.com',
  DRAIN_DELAY_SECONDS: '0',
}

/** Node reports this number of cores to the service. */
const withCores = (cores: number): Record<string, string> => {
  const script = `import os from 'node:os'
    import { syncBuiltinESMExports } from 'node:module'
    os.availableParallelism = () => ${cores}
    syncBuiltinESMExports()`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

type LogLine = { level: number; msg: string; [field: string]: unknown }

/** The lines that are logged until the service is ready, or all of its processes are. */
const loggedBy = async (child: ChildProcess, until: RegExp): Promise<LogLine[]> => {
  let logged = ''
  child.stderr?.on('data', (chunk) => {
    logged += chunk
  })
  await untilPrints(child, until)
  return logged
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
}

const allServe = /"msg":"all processes serve"/

test('In production, start runs an API process for each core but one, and its first line says why', async () => {
  const child = start('start', { ...productionEnv, ...withCores(3) })
  const [first, ...others] = await loggedBy(child, allServe)
  expect(first).toMatchObject({
    level: 30,
    processes: '2 for the API and 1 for the worker',
    why: 'the machine has 3 cores: one API process for each but one',
    msg: 'processes chosen',
  })
  expect(others.filter(({ msg }) => msg === 'processes chosen')).toEqual([])
  expect(others.at(-1)).toMatchObject({ api: 2, worker: 1, msg: 'all processes serve' })
  expect(await stopped(child, 'SIGTERM')).toBe(0)
})

test('In production with two cores, start stays one process, and its first line says why', async () => {
  const child = start('start', { ...productionEnv, ...withCores(2) })
  const [first, ...others] = await loggedBy(child, /ready at/)
  expect(first).toMatchObject({
    processes: '1 for the API and the worker',
    why: 'the machine has 2 cores: too few for several processes',
    msg: 'processes chosen',
  })
  expect(others.filter((line) => 'process' in line)).toEqual([])
  expect(await stopped(child, 'SIGTERM')).toBe(0)
})

test('API_PROCESSES decides in production too, and the first line says so', async () => {
  const child = start('start', { ...productionEnv, ...withCores(8), API_PROCESSES: '1' })
  const [first, ...others] = await loggedBy(child, allServe)
  expect(first).toMatchObject({
    processes: '1 for the API and 1 for the worker',
    why: 'API_PROCESSES is set',
    msg: 'processes chosen',
  })
  expect(others.at(-1)).toMatchObject({ api: 1, worker: 1 })
  expect(await stopped(child, 'SIGTERM')).toBe(0)
})

test('Outside production start stays one process on any machine, and chooses nothing', async () => {
  const child = start('start', withCores(8))
  const lines = await loggedBy(child, ready)
  expect(lines.filter((line) => 'process' in line || line.msg === 'processes chosen')).toEqual([])
  expect(await stopped(child, 'SIGTERM')).toBe(0)
})

test('In production, fewer API processes start if the database allows too few connections for them', async () => {
  const [allowed] = await database.sql<{ n: number }>("select current_setting('max_connections')::int as n")
  // Three processes do not fit, and neither do two. One always starts.
  const DATABASE_POOL_SIZE = String(Math.min(allowed?.n ?? 0, 500))
  const child = start('start', { ...productionEnv, ...withCores(4), DATABASE_POOL_SIZE })
  const lines = await loggedBy(child, allServe)
  expect(lines[0]).toMatchObject({ processes: '3 for the API and 1 for the worker' })
  expect(lines.filter(({ msg }) => msg === 'the database allows too few connections')).toMatchObject([
    { level: 40, api: 1, worker: 1 },
  ])
  expect(lines.at(-1)).toMatchObject({ api: 1, worker: 1, msg: 'all processes serve' })
  expect(await stopped(child, 'SIGTERM')).toBe(0)
})

test.each(['start', 'api', 'worker'])('In production, %s logs one warning for each unsafe setting', async (part) => {
  const child = start(part, { ...productionEnv, RATE_LIMITER: 'off' })
  const printed = part === 'worker' ? undefined : untilPrints(child, /ready at/)
  let logged = ''
  child.stderr?.on('data', (chunk) => {
    logged += chunk
  })
  const warnings = () =>
    logged
      .split('\n')
      .filter((line) => line.includes('unsafe setting in production'))
      .map((line) => JSON.parse(line) as { level: number; variable: string })
  await expect.poll(() => warnings().length).toBe(2)
  await printed
  expect(await stopped(child, 'SIGTERM')).toBe(0)
  expect(warnings().map(({ level, variable }) => [level, variable])).toEqual([
    [40, 'RATE_LIMITER'],
    [40, 'AUDIT_SIGNING_SECRET'],
  ])
})

test.each(['start', 'api', 'worker', 'migrate'])(
  'In production, %s exits with a message when MASTER_KEY is guessable or BASE_URL is plain http',
  async (part) => {
    const weak = Buffer.alloc(32, 'ab').toString('base64')
    const env = { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0', ...productionEnv }
    const ran = await tidings([part], { ...env, MASTER_KEY: weak, BASE_URL: 'http://api.example.com' })
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toContain('MASTER_KEY cannot be guessable in production')
    expect(ran.stderr).toContain('openssl rand -base64 32')
    expect(ran.stderr).toContain('BASE_URL cannot be a plain http URL in production')
    expect(ran.stderr).not.toContain(weak)
  },
)
