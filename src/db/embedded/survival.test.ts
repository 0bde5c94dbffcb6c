import { spawn } from 'node:child_process'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { asRoot } from './account.ts'
import {
  cleanUp,
  lives,
  ordinary,
  postmasterPid,
  processesIn,
  query,
  spawnService,
  start,
  until,
  usedFolder,
} from './harness.ts'
import { findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

const killedService = async (options: Partial<Parameters<typeof spawnService>[0]> = {}) => {
  const dataDir = await usedFolder()
  const service = spawnService({ dataDir, ...options })
  const { url, message } = await service.said
  if (url === undefined) throw new Error(message)
  await service.end('SIGKILL')
  return { dataDir, url, cluster: join(dataDir, 'postgres') }
}

/** Leaves a backend that will not go by itself, and kills its postmaster. */
const killPostmasterOnly = async (url: string, cluster: string) => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  const backend = (await client.query('select pg_backend_pid() as pid')).rows[0].pid as number
  process.kill(backend, 'SIGSTOP')
  const postmaster = await postmasterPid(cluster)
  process.kill(postmaster, 'SIGKILL')
  await until('the postmaster is gone', async () => !(await lives(postmaster)))
  return { backend, disconnect: () => client.end().catch(() => undefined) }
}

describe.concurrent('what a killed service leaves behind', { timeout: 30_000 }, () => {
  test('the server left by a killed service is found, taken over where it runs, and stopped with its new owner', async () => {
    const { dataDir, url } = await killedService()
    expect(await findEmbedded(dataDir)).toBe(url)
    const embedded = await start(dataDir)
    expect(embedded).toMatchObject({ adopted: true, url })
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('a server left with other settings is restarted with those asked for', async () => {
    const { dataDir } = await killedService()
    const embedded = await start(dataDir, { settings: { work_mem: '7MB' } })
    expect(embedded.adopted).toBe(false)
    expect(await query(embedded.url, 'show work_mem')).toEqual([{ work_mem: '7MB' }])
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('a server left behind that does not answer is ended and started anew', async () => {
    const { dataDir, cluster } = await killedService()
    const hung = await postmasterPid(cluster)
    process.kill(hung, 'SIGSTOP')
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(false)
    expect(await lives(hung)).toBe(false)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('backends that outlive their killed postmaster are ended so that a new server can start', async () => {
    const { dataDir, url, cluster } = await killedService()
    const { backend, disconnect } = await killPostmasterOnly(url, cluster)
    expect(await findEmbedded(dataDir)).toBeNull()
    const embedded = await start(dataDir)
    expect(await lives(backend)).toBe(false)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
    await disconnect()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('leftovers are ended even when the pid file that would tell of them is gone', async () => {
    const { dataDir, url, cluster } = await killedService()
    const { backend, disconnect } = await killPostmasterOnly(url, cluster)
    await writeFile(join(cluster, 'postmaster.pid'), '')
    const embedded = await start(dataDir)
    expect(await lives(backend)).toBe(false)
    await embedded.stop()
    await disconnect()
  })

  test('a pid file from before a reboot, its pid now another process, neither hinders a start nor hurts that process', async () => {
    const dataDir = await usedFolder()
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore', cwd: join(dataDir, 'postgres'), ...ordinary })
    const file = join(dataDir, 'postgres', 'postmaster.pid')
    await writeFile(file, `${bystander.pid}\n${dataDir}/postgres\n1700000000\n5432\n\n127.0.0.1\n  123 456\nready   \n`)
    expect(await findEmbedded(dataDir)).toBeNull()
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(false)
    await embedded.stop()
    expect(await lives(bystander.pid ?? 0)).toBe(true)
    bystander.kill('SIGKILL')
  })

  test('a pid file whose process is gone does not hinder a start', async () => {
    const dataDir = await usedFolder()
    const passing = spawn('true')
    await until('it has ended', async () => !(await lives(passing.pid ?? 0)))
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), `${passing.pid}\n${dataDir}/postgres\n1\n5432\n`)
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test.runIf(asRoot())(
    'a container whose root may not look into other users processes takes over all the same',
    async () => {
      const caps = ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace']
      const { dataDir, url, cluster } = await killedService({ under: caps })
      const second = spawnService({ dataDir, under: caps })
      expect(await second.said).toEqual({ url, adopted: true })
      await second.end('SIGKILL')
      const { backend, disconnect } = await killPostmasterOnly(url, cluster)
      const third = spawnService({ dataDir, under: caps })
      expect(await third.said).toMatchObject({ adopted: false })
      expect(await lives(backend)).toBe(false)
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

describe.concurrent('a server that dies under a running service', { timeout: 30_000 }, () => {
  test('a server that dies under the service comes back on the same port, time and again', async () => {
    const dataDir = await usedFolder()
    let lost = 0
    const embedded = await start(dataDir, { onLost: () => lost++ })
    for (let time = 0; time < 2; time++) {
      const pid = await postmasterPid(join(dataDir, 'postgres'))
      process.kill(pid, 'SIGKILL')
      await until('it is gone', async () => !(await lives(pid)))
      await until('it is back', () => answers(embedded.url))
    }
    expect(lost).toBe(0)
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('an adopted server that dies comes back as well', async () => {
    const dataDir = await usedFolder()
    const service = spawnService({ dataDir })
    await service.said
    await service.end('SIGKILL')
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(true)
    const pid = await postmasterPid(join(dataDir, 'postgres'))
    process.kill(pid, 'SIGKILL')
    await until('it is gone', async () => !(await lives(pid)))
    await until('it is back', () => answers(embedded.url))
    await embedded.stop()
  })

  test('a server that cannot be brought back is reported once, after a bounded number of tries', async () => {
    const dataDir = await usedFolder()
    let lost = 0
    const embedded = await start(dataDir, { onLost: () => lost++ })
    const pid = await postmasterPid(join(dataDir, 'postgres'))
    await rename(join(dataDir, 'postgres'), join(dataDir, 'away'))
    process.kill(pid, 'SIGKILL')
    await until('it is given up', async () => lost > 0, 15_000)
    await embedded.stop()
    expect(lost).toBe(1)
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('stopping while the server is being brought back leaves no process behind', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    process.kill(await postmasterPid(join(dataDir, 'postgres')), 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 150))
    await embedded.stop()
    await until('nothing is left', async () => (await processesIn(dataDir)).length === 0)
  })
})
