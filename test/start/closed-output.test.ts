/** The service and its commands while nobody reads their output, or while it cannot be written. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, open, readFile, realpath, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { oldNode, processesOf, until } from './launched.ts'
import { makeLoad } from './several-service.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'tidings.js')
const folders: string[] = []

const makeFolder = async (): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-output-')))
  // The embedded database may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  folders.push(folder)
  return folder
}

afterAll(async () => {
  for (const folder of folders) {
    for (const pid of await processesOf(join(folder, 'data'))) process.kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
})

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

type Output = 'pipe' | 'closed' | number
type Started = { child: ChildProcess; errors(): string; exited: Promise<number | string> }

/** `closed` is a pipe whose reader is gone before the program writes to it. */
const start = (
  args: string[],
  env: Record<string, string>,
  { node = [] as string[], stdout = 'pipe' as Output, stderr = 'pipe' as Output } = {},
): Started => {
  const stdio = [stdout, stderr].map((output) => (output === 'closed' ? 'pipe' : output))
  const child = spawn(process.execPath, [...node, launcher, ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE, ...env },
    stdio: ['ignore', ...stdio],
    cwd: tmpdir(),
    detached: true,
  })
  if (stdout === 'closed') child.stdout?.destroy()
  if (stderr === 'closed') child.stderr?.destroy()
  let errors = ''
  child.stdout?.resume()
  child.stderr?.on('data', (text) => {
    errors += text
  })
  return { child, errors: () => errors, exited: once(child, 'exit').then(([code, signal]) => signal ?? code) }
}

const settingsIn = async (folder: string) => ({
  DATA_DIR: join(folder, 'data'),
  PORT: String(await freePort()),
  FIRST_RUN_FILE: join(folder, 'first.json'),
})

type Settings = Awaited<ReturnType<typeof settingsIn>>

const statusOf = (url: string, key?: string): Promise<number> =>
  fetch(url, { headers: { connection: 'close', ...(key && { authorization: `Bearer ${key}` }) } }).then(
    ({ status }) => status,
    () => 0,
  )

const untilReady = ({ child, errors }: Started, port: string): Promise<boolean> =>
  until(
    'the service is ready',
    async () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it exited: ${errors()}`)
      return (await statusOf(`http://127.0.0.1:${port}/readyz`)) === 200
    },
    280_000,
  )

const readJson = async (file: string) => JSON.parse(await readFile(file, 'utf8'))

const listUrl = (port: string): string => `http://127.0.0.1:${port}/api/v1/suppressions`

const ways: { name: string; node: string[]; env: Record<string, string> }[] = [
  { name: 'in one process', node: [], env: {} },
  { name: 'under an older Node', node: oldNode, env: {} },
  { name: 'as several processes', node: [], env: { API_PROCESSES: '2' } },
]

describe.each(ways)('The service $name', ({ node, env }) => {
  // The second test starts the service of the first again: making a database takes longer than all else it does.
  let settings: Settings
  beforeAll(async () => {
    settings = await settingsIn(await makeFolder())
  })

  test('starts for the first time with closed outputs, saves its credentials, serves and stops cleanly', async () => {
    const service = start(['start'], { ...settings, ...env }, { node, stdout: 'closed', stderr: 'closed' })
    await untilReady(service, settings.PORT)
    const first = await until('the credentials are saved', () => readJson(settings.FIRST_RUN_FILE).catch(() => null))
    expect(Object.keys(first)).toEqual(['base_url', 'org', 'owner', 'keys', 'domain', 'sms_sender'])
    expect(await statusOf(listUrl(settings.PORT), first.keys.live)).toBe(200)
    service.child.kill('SIGINT')
    expect(await service.exited).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })

  test('goes on under load when its outputs are closed, and stops cleanly', async () => {
    const service = start(['start'], { ...settings, ...env, LOG_LEVEL: 'info' }, { node })
    await untilReady(service, settings.PORT)
    const { keys } = await until('the credentials are saved', () => readJson(settings.FIRST_RUN_FILE).catch(() => null))
    const load = makeLoad(`http://127.0.0.1:${settings.PORT}`, keys.live)
    service.child.stdout?.destroy()
    service.child.stderr?.destroy()
    const before = load.result.answered
    await until('it has answered 300 requests', () => load.result.answered >= before + 300, 120_000)
    if (env.API_PROCESSES) {
      // The processes that SIGHUP starts have closed outputs from the beginning.
      const running = await processesOf(settings.DATA_DIR)
      service.child.kill('SIGHUP')
      await until(
        'new processes serve',
        async () => (await processesOf(settings.DATA_DIR)).filter((pid) => !running.includes(pid)).length >= 3,
        120_000,
      )
    }
    expect((await load.stop()).failed).toEqual({})
    await untilReady(service, settings.PORT)
    service.child.kill('SIGTERM')
    expect(await service.exited).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })
})

test('The first start saves credentials that it cannot print in the data folder, if no other file is set', async () => {
  const { FIRST_RUN_FILE: _, ...settings } = await settingsIn(await makeFolder())
  const service = start(['start'], settings, { stdout: 'closed' })
  await untilReady(service, settings.PORT)
  const file = join(settings.DATA_DIR, 'first-run.json')
  const first = await until('the credentials are saved', () => readJson(file).catch(() => null))
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await statusOf(listUrl(settings.PORT), first.keys.live)).toBe(200)
  await until('the log names the file', () => service.errors().includes('credentials not printed'))
  const lines = service.errors().split('\n')
  const logged = JSON.parse(lines.find((line) => line.includes('credentials not printed')) ?? '{}')
  expect(logged).toMatchObject({ level: 40, file })
  expect(service.errors()).not.toContain(first.keys.live)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  expect(await processesOf(settings.DATA_DIR)).toEqual([])
})

test('A first start that cannot save its credentials creates nothing, so the next one has them', async () => {
  const folder = await makeFolder()
  const settings = await settingsIn(folder)
  const failed = start(['start'], { ...settings, FIRST_RUN_FILE: join(folder, 'nowhere', 'first.json') })
  expect(await failed.exited).toBe(1)
  expect(failed.errors()).toContain('FIRST_RUN_FILE')
  expect(await processesOf(settings.DATA_DIR)).toEqual([])
  const service = start(['start'], settings)
  await untilReady(service, settings.PORT)
  const { keys } = await until('the credentials are saved', () => readJson(settings.FIRST_RUN_FILE).catch(() => null))
  expect(await statusOf(listUrl(settings.PORT), keys.live)).toBe(200)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})

test('A command whose output is closed does its work, exits with 1 and leaves no database server', async () => {
  const DATA_DIR = join(await makeFolder(), 'data')
  const create = (stdout: Output) =>
    start(['ops', 'org', 'create', '--name', 'Closed', '--json'], { DATA_DIR }, { stdout })
  const closed = create('closed')
  expect([await closed.exited, closed.errors()]).toEqual([1, ''])
  expect(await processesOf(DATA_DIR)).toEqual([])
  const full = await open('/dev/full', 'w')
  const unwritten = create(full.fd)
  expect(await unwritten.exited).toBe(1)
  expect(unwritten.errors()).toBe('The output could not be written: ENOSPC: no space left on device, write\n')
  await full.close()
  expect(await processesOf(DATA_DIR)).toEqual([])
  const list = start(['ops', 'org', 'list', '--json'], { DATA_DIR })
  let orgs = ''
  list.child.stdout?.on('data', (text) => {
    orgs += text
  })
  expect(await list.exited).toBe(0)
  expect(JSON.parse(orgs).data).toHaveLength(2)
})

const ofBothFormats = await settingsIn(await makeFolder())

test.each(['json', 'pretty'])('The service goes on when its outputs cannot be written as %s', async (format) => {
  const settings = ofBothFormats
  const full = await open('/dev/full', 'w')
  const service = start(['start'], { ...settings, LOG_FORMAT: format }, { stdout: full.fd, stderr: full.fd })
  await full.close()
  await untilReady(service, settings.PORT)
  const { keys } = await until('the credentials are saved', () => readJson(settings.FIRST_RUN_FILE).catch(() => null))
  for (let n = 0; n < 60; n++) expect(await statusOf(listUrl(settings.PORT), keys.live)).toBe(200)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  expect(await processesOf(settings.DATA_DIR)).toEqual([])
})
