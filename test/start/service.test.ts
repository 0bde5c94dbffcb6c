import { chmod, chown, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lives, oldNode, processesOf, type Run, run, until } from './launched.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'tidings.js')
const root = process.getuid?.() === 0

const made: string[] = []

const temporaryFolder = async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-start-')))
  await chmod(folder, 0o755)
  made.push(folder)
  return folder
}

const listening = async (port = 0) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  return { port: typeof address === 'object' && address ? address.port : 0, close: () => server.close() }
}

const freePort = async () => {
  const probe = await listening()
  probe.close()
  return probe.port
}

type Settings = { DATA_DIR: string; PORT: number; FIRST_RUN_FILE?: string }

const start = (settings: Settings, { node = [] as string[], as = {} } = {}): Run => {
  // Without the test run's environment, in which BASE_URL and other variables have another meaning.
  const env = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE,
    LOG_LEVEL: 'warn',
    ...settings,
    PORT: String(settings.PORT),
  }
  return run(process.execPath, [...node, launcher, 'start'], { env, cwd: tmpdir(), ...as })
}

const healthy = (port: number) =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    (reply) => reply.status === 200,
    () => false,
  )

const untilHealthy = (service: Run, { PORT }: Settings) =>
  until(`port ${PORT} responds\n${service.errors()}`, async () => {
    if (!(await lives(service.pid))) throw new Error(`it exited: ${service.errors()}`)
    return healthy(PORT)
  })

afterAll(async () => {
  for (const folder of made) {
    for (const pid of await processesOf(join(folder, 'data'))) process.kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
})

const ready = async (): Promise<Settings & { FIRST_RUN_FILE: string }> => {
  const folder = await temporaryFolder()
  return {
    DATA_DIR: join(folder, 'data'),
    PORT: await freePort(),
    FIRST_RUN_FILE: join(folder, 'first.json'),
  }
}

/** The lines on standard error without the JSON log lines. */
const messagesOf = (service: Run) =>
  service
    .errors()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))

describe('npm start', { timeout: 60_000 }, () => {
  let settings: Settings & { FIRST_RUN_FILE: string }

  const serving = async (options?: Parameters<typeof start>[1]) => {
    const service = start(settings, options)
    await untilHealthy(service, settings)
    return service
  }

  beforeAll(async () => {
    settings = await ready()
  })

  test('serves, writes its credentials, and leaves no process behind after repeated Ctrl-C', async () => {
    const service = await serving()
    const first = await until('the first-run file exists', () =>
      readFile(settings.FIRST_RUN_FILE, 'utf8').catch(() => ''),
    )
    expect(JSON.parse(first)).toMatchObject({ base_url: `http://127.0.0.1:${settings.PORT}`, keys: {} })
    expect((await stat(settings.FIRST_RUN_FILE)).mode & 0o777).toBe(0o600)
    await rm(settings.FIRST_RUN_FILE)
    for (let times = 0; times < 3; times++) service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })

  test('serves again after it was killed, without writing its credentials again', async () => {
    const killed = await serving()
    killed.signalGroup('SIGKILL')
    await killed.ended()
    const service = await serving()
    const second = start({ ...settings, PORT: await freePort() })
    expect(await second.ended()).toBe(1)
    expect(messagesOf(second)).toEqual([
      expect.stringMatching(new RegExp(`pid ${service.pid} .*DATA_DIR ${settings.DATA_DIR}`)),
    ])
    expect(await healthy(settings.PORT)).toBe(true)
    service.signal('SIGTERM')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
    await expect(stat(settings.FIRST_RUN_FILE)).rejects.toThrow(/ENOENT/)
  })

  test('serves again at once after the launcher was killed under an older Node', async () => {
    const killed = await serving({ node: oldNode })
    killed.signalGroup('SIGKILL')
    const service = start(settings, { node: oldNode })
    await killed.ended()
    await untilHealthy(service, settings)
    service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })

  test('reports in one line that the port is in use and which variable changes it', async () => {
    const other = await listening()
    const service = start({ ...settings, PORT: other.port })
    expect(await service.ended()).toBe(1)
    expect(messagesOf(service)).toEqual([expect.stringMatching(new RegExp(`${other.port}.*PORT`))])
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
    other.close()
  })

  test('reports in one line that DATA_DIR is read-only', async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o555)
    const service = start({ DATA_DIR: folder, PORT: await freePort() })
    expect(await service.ended()).toBe(1)
    expect(messagesOf(service)).toEqual([
      expect.stringMatching(new RegExp(`DATA_DIR is ${folder}, which is read-only`)),
    ])
    await chmod(folder, 0o755)
  })

  test('reports in one line that DATA_DIR is not a folder', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')
    const service = start({ DATA_DIR: file, PORT: await freePort() })
    expect(await service.ended()).toBe(1)
    expect(messagesOf(service)).toEqual([expect.stringMatching(new RegExp(`DATA_DIR is ${file}, but .* not a folder`))])
  })

  test.runIf(root)('runs as an ordinary user in a folder of that user', async () => {
    settings = await ready()
    await chown(join(settings.DATA_DIR, '..'), 65534, 65534)
    const service = await serving({ as: { uid: 65534, gid: 65534 } })
    service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })
})
