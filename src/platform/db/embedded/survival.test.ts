import { spawn } from 'node:child_process'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  isAlive,
  postmasterPid,
  processesIn,
  query,
  spawnService,
  start,
  unprivileged,
  until,
  usedFolder,
} from '../../../../test/service/embedded.ts'
import { asRoot } from './account.ts'
import { findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

const killedService = async (options: Partial<Parameters<typeof spawnService>[0]> = {}) => {
  const dataDir = await usedFolder()
  const service = spawnService({ dataDir, ...options })
  const { url, message } = await service.report
  if (url === undefined) throw new Error(message)
  await service.end('SIGKILL')
  return { dataDir, url, cluster: join(dataDir, 'postgres') }
}

/** Kills the postmaster and leaves a backend that does not exit by itself. */
const killPostmasterOnly = async (url: string, cluster: string) => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  const backend = (await client.query('select pg_backend_pid() as pid')).rows[0].pid as number
  process.kill(backend, 'SIGSTOP')
  const postmaster = await postmasterPid(cluster)
  process.kill(postmaster, 'SIGKILL')
  await until('the postmaster is gone', async () => !(await isAlive(postmaster)))
  return { backend, disconnect: () => client.end().catch(() => undefined) }
}

describe.concurrent('after a service is killed', { timeout: 30_000 }, () => {
  test('its server is found, adopted by the next service, and stopped with it', async () => {
    const { dataDir, url } = await killedService()
    expect(await findEmbedded(dataDir)).toBe(url)
    const embedded = await start(dataDir)
    expect(embedded).toMatchObject({ adopted: true, url })
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('a server with other settings is restarted with the requested ones', async () => {
    const { dataDir } = await killedService()
    const embedded = await start(dataDir, { settings: { work_mem: '7MB' } })
    expect(embedded.adopted).toBe(false)
    expect(await query(embedded.url, 'show work_mem')).toEqual([{ work_mem: '7MB' }])
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('a server that does not respond is ended and a new one is started', async () => {
    const { dataDir, cluster } = await killedService()
    const hung = await postmasterPid(cluster)
    process.kill(hung, 'SIGSTOP')
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(false)
    expect(await isAlive(hung)).toBe(false)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('backends that outlive their postmaster are ended so that a new server can start', async () => {
    const { dataDir, url, cluster } = await killedService()
    const { backend, disconnect } = await killPostmasterOnly(url, cluster)
    expect(await findEmbedded(dataDir)).toBeNull()
    const embedded = await start(dataDir)
    expect(await isAlive(backend)).toBe(false)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
    await disconnect()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('backends that outlive their postmaster are ended even when the pid file is empty', async () => {
    const { dataDir, url, cluster } = await killedService()
    const { backend, disconnect } = await killPostmasterOnly(url, cluster)
    await writeFile(join(cluster, 'postmaster.pid'), '')
    const embedded = await start(dataDir)
    expect(await isAlive(backend)).toBe(false)
    await embedded.stop()
    await disconnect()
  })

  test('a pid file with the pid of another process does not prevent a start or affect that process', async () => {
    const dataDir = await usedFolder()
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore', cwd: join(dataDir, 'postgres'), ...unprivileged })
    const file = join(dataDir, 'postgres', 'postmaster.pid')
    await writeFile(file, `${bystander.pid}\n${dataDir}/postgres\n1700000000\n5432\n\n127.0.0.1\n  123 456\nready   \n`)
    expect(await findEmbedded(dataDir)).toBeNull()
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(false)
    await embedded.stop()
    expect(await isAlive(bystander.pid ?? 0)).toBe(true)
    bystander.kill('SIGKILL')
  })

  test('a pid file of a dead process does not prevent a start', async () => {
    const dataDir = await usedFolder()
    const ended = spawn('true')
    await until('the process has ended', async () => !(await isAlive(ended.pid ?? 0)))
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), `${ended.pid}\n${dataDir}/postgres\n1\n5432\n`)
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test.runIf(asRoot())(
    'the server is adopted even when root cannot inspect processes of other users, as in containers',
    async () => {
      const caps = ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace']
      const { dataDir, url, cluster } = await killedService({ under: caps })
      const second = spawnService({ dataDir, under: caps })
      expect(await second.report).toEqual({ url, adopted: true })
      await second.end('SIGKILL')
      const { backend, disconnect } = await killPostmasterOnly(url, cluster)
      const third = spawnService({ dataDir, under: caps })
      expect(await third.report).toMatchObject({ adopted: false })
      expect(await isAlive(backend)).toBe(false)
      await third.end('SIGTERM')
      await disconnect()
      expect(await processesIn(dataDir)).toEqual([])
    },
  )
})

const answers = (url: string) =>
  query(url, 'select word from kept').then(
    (rows) => rows.length === 1,
    () => false,
  )

describe.concurrent('a server that dies while the service runs', { timeout: 30_000 }, () => {
  test('is restarted on the same port every time', async () => {
    const dataDir = await usedFolder()
    let lost = 0
    const embedded = await start(dataDir, { onLost: () => lost++ })
    for (let time = 0; time < 2; time++) {
      const pid = await postmasterPid(join(dataDir, 'postgres'))
      process.kill(pid, 'SIGKILL')
      await until('the server is gone', async () => !(await isAlive(pid)))
      await until('the server is back', () => answers(embedded.url))
    }
    expect(lost).toBe(0)
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('is restarted when it was adopted', async () => {
    const dataDir = await usedFolder()
    const service = spawnService({ dataDir })
    await service.report
    await service.end('SIGKILL')
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(true)
    const pid = await postmasterPid(join(dataDir, 'postgres'))
    process.kill(pid, 'SIGKILL')
    await until('the server is gone', async () => !(await isAlive(pid)))
    await until('the server is back', () => answers(embedded.url))
    await embedded.stop()
  })

  test('is reported once when it cannot be restarted within a limited number of attempts', async () => {
    const dataDir = await usedFolder()
    let lost = 0
    const embedded = await start(dataDir, { onLost: () => lost++ })
    const pid = await postmasterPid(join(dataDir, 'postgres'))
    await rename(join(dataDir, 'postgres'), join(dataDir, 'away'))
    process.kill(pid, 'SIGKILL')
    await until('the server is reported as lost', async () => lost > 0, 15_000)
    await embedded.stop()
    expect(lost).toBe(1)
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('leaves no process when the service stops during the restart', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    process.kill(await postmasterPid(join(dataDir, 'postgres')), 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 150))
    await embedded.stop()
    await until('no process is left', async () => (await processesIn(dataDir)).length === 0)
  })
})
