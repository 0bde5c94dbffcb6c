import {
  chmod,
  chown,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { lives, oldNode, type Run, run, until } from './launched.ts'

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
  // Nothing of the test run's own environment, in which BASE_URL and others mean something else.
  const env = { PATH: process.env.PATH, LOG_LEVEL: 'warn', ...settings, PORT: String(settings.PORT) }
  return run(process.execPath, [...node, launcher, 'start'], { env, cwd: tmpdir(), ...as })
}

const healthy = (port: number) =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    (reply) => reply.status === 200,
    () => false,
  )

const answers = (service: Run, { PORT }: Settings) =>
  until(`port ${PORT} answers\n${service.errors()}`, async () => {
    if (!(await lives(service.pid))) throw new Error(`it ended: ${service.errors()}`)
    return healthy(PORT)
  })

/** Everything that runs in the data folder (PostgreSQL) or was started for it (the service). */
const processesOf = async (dataDir: string): Promise<number[]> => {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    if (pid === process.pid || !(await lives(pid))) continue
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
    if (cwd.startsWith(dataDir) || environment.split('\0').includes(`DATA_DIR=${dataDir}`)) found.push(pid)
  }
  return found
}

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

describe.concurrent('npm start', { timeout: 60_000 }, () => {
  test('serves, tells its credentials once, and Ctrl-C, however often it arrives, leaves no process behind', async () => {
    const settings = await ready()
    const service = start(settings)
    await answers(service, settings)
    const first = await until('the first run is told', () =>
      readFile(settings.FIRST_RUN_FILE, 'utf8').catch(() => ''),
    )
    expect(JSON.parse(first)).toMatchObject({ base_url: `http://127.0.0.1:${settings.PORT}`, keys: {} })
    expect((await stat(settings.FIRST_RUN_FILE)).mode & 0o777).toBe(0o600)
    for (let times = 0; times < 3; times++) service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])

    await rm(settings.FIRST_RUN_FILE)
    const again = start(settings)
    await answers(again, settings)
    again.signal('SIGTERM')
    expect(await again.ended()).toBe(0)
    await expect(stat(settings.FIRST_RUN_FILE)).rejects.toThrow(/ENOENT/)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })

  test('works again after the service was killed outright', async () => {
    const settings = await ready()
    const killed = start(settings)
    await answers(killed, settings)
    killed.signalGroup('SIGKILL')
    await killed.ended()
    const service = start(settings)
    await answers(service, settings)
    service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })

  test('works again after its launcher was killed outright, also at once', async () => {
    const settings = await ready()
    const killed = start(settings, { node: oldNode })
    await answers(killed, settings)
    killed.signalGroup('SIGKILL')
    const service = start(settings, { node: oldNode })
    await until('the first has gone', async () => (await killed.ended()) === 'SIGKILL')
    await answers(service, settings)
    service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })

  test('says in one line that the port is taken, and by which variable to change it', async () => {
    const [settings, other] = [await ready(), await listening()]
    const service = start({ ...settings, PORT: other.port })
    expect(await service.ended()).toBe(1)
    expect(service.errors()).toMatch(new RegExp(`^[^\\n]*${other.port}[^\\n]*PORT[^\\n]*\\n$`))
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
    other.close()
  })

  test('says in one line that DATA_DIR is in use, naming the process that has it', async () => {
    const settings = await ready()
    const service = start(settings)
    await answers(service, settings)
    const second = start({ ...settings, PORT: await freePort() })
    expect(await second.ended()).toBe(1)
    expect(second.errors()).toMatch(
      new RegExp(`^[^\\n]*pid ${service.pid}[^\\n]*DATA_DIR ${settings.DATA_DIR}[^\\n]*\\n$`),
    )
    expect(await healthy(settings.PORT)).toBe(true)
    service.signal('SIGTERM')
    expect(await service.ended()).toBe(0)
  })

  test('says in one line that DATA_DIR is read-only', async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o555)
    const service = start({ DATA_DIR: folder, PORT: await freePort() })
    expect(await service.ended()).toBe(1)
    expect(service.errors()).toMatch(
      new RegExp(`^[^\\n]*DATA_DIR[^\\n]*${folder}[^\\n]*read-only[^\\n]*\\n$`),
    )
    await chmod(folder, 0o755)
  })

  test('says in one line that DATA_DIR is not a folder', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')
    const service = start({ DATA_DIR: file, PORT: await freePort() })
    expect(await service.ended()).toBe(1)
    expect(service.errors()).toMatch(new RegExp(`^[^\\n]*DATA_DIR[^\\n]*${file}[^\\n]*\\n$`))
  })

  test.runIf(root)('serves an ordinary user from a folder of theirs', async () => {
    const settings = await ready()
    const folder = join(settings.DATA_DIR, '..')
    await chown(folder, 65534, 65534)
    const service = start(settings, { as: { uid: 65534, gid: 65534 } })
    await answers(service, settings)
    service.signalGroup('SIGINT')
    expect(await service.ended()).toBe(0)
    expect(await processesOf(settings.DATA_DIR)).toEqual([])
  })
})
