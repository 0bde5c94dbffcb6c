import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  processesIn,
  query,
  spawnService,
  start,
  temporaryFolder,
  usedFolder,
} from '../../../../test/service/embedded.ts'
import { claimFolder } from './ownership.ts'
import { startTimeOf } from './processes.ts'
import { findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

const writeLock = async (home: string, pid: number, startTime: string) => {
  await mkdir(join(home, 'service.lock'))
  await writeFile(join(home, 'service.lock', `${pid}~${startTime}~00000000`), '')
}

describe.concurrent('one service per data folder', { timeout: 30_000 }, () => {
  test('a second service fails with the pid of the first and DATA_DIR, and does not affect the first', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    const second = await spawnService({ dataDir }).report
    expect(second.fault).toBe('OperatorFault')
    expect(second.message).toContain(`pid ${process.pid} already uses DATA_DIR ${dataDir}`)
    expect(await findEmbedded(dataDir)).toBe(embedded.url)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('a second start in the same process fails at once', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    await expect(start(dataDir)).rejects.toThrow(`pid ${process.pid} already uses DATA_DIR`)
    await embedded.stop()
  })

  test('a start waits for a service that is stopping', async () => {
    const dataDir = await usedFolder()
    const first = spawnService({ dataDir })
    await first.report
    const stopping = first.end('SIGTERM')
    const embedded = await start(dataDir)
    await stopping
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('when several services start on an empty folder at the same time, exactly one succeeds', async () => {
    const dataDir = await temporaryFolder()
    const services = [1, 2, 3].map(() => spawnService({ dataDir }))
    const reports = await Promise.all(services.map((service) => service.report))
    expect(reports.filter(({ url }) => url !== undefined)).toHaveLength(1)
    const winner = services[reports.findIndex(({ url }) => url !== undefined)]
    for (const { message } of reports.filter(({ fault }) => fault)) {
      expect(message).toContain(`pid ${winner?.pid} already uses`)
    }
    await winner?.end('SIGTERM')
    expect(await processesIn(dataDir)).toEqual([])
    expect((await readdir(dataDir)).filter((name) => name.startsWith('service.lock'))).toEqual([])
  })

  test('the claim of a dead process is replaced', async () => {
    const home = await temporaryFolder()
    const ended = spawn('true')
    await once(ended, 'exit')
    await writeLock(home, ended.pid ?? 0, 'unknown')
    const claim = await claimFolder(home, home, 0)
    await claim.release()
  })

  test('a claim whose pid now belongs to another process is replaced', async () => {
    const home = await temporaryFolder()
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore' })
    await writeLock(home, bystander.pid ?? 0, 'from_before_the_reboot')
    const claim = await claimFolder(home, home, 0)
    await claim.release()
    bystander.kill('SIGKILL')
  })

  test('the claim of a live process is respected, and drafts of dead processes are removed', async () => {
    const home = await temporaryFolder()
    const owner = spawn('sleep', ['60'], { stdio: 'ignore' })
    await writeLock(home, owner.pid ?? 0, (await startTimeOf(owner.pid ?? 0)) ?? '')
    await mkdir(join(home, 'service.lock.999999~gone~00000000'))
    await expect(claimFolder(home, home, 100)).rejects.toThrow(`pid ${owner.pid} already uses`)
    owner.kill('SIGKILL')
    const claim = await claimFolder(home, home)
    expect(await readdir(home)).toEqual(['service.lock'])
    await claim.release()
    expect(await readdir(home)).toEqual([])
  })
})
