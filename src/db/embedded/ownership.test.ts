import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { cleanUp, processesIn, query, spawnService, start, temporaryFolder, usedFolder } from './harness.ts'
import { claimFolder } from './ownership.ts'
import { birthOf } from './processes.ts'
import { findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

const lockNaming = async (home: string, pid: number, birth: string) => {
  await mkdir(join(home, 'service.lock'))
  await writeFile(join(home, 'service.lock', `${pid}~${birth}~00000000`), '')
}

describe.concurrent('one service per data folder', { timeout: 30_000 }, () => {
  test('a second service on the folder fails, naming the pid of the first and DATA_DIR, and does no harm', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    const second = await spawnService({ dataDir }).said
    expect(second.fault).toBe('EmbeddedFault')
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

  test('a service that is just stopping is waited for', async () => {
    const dataDir = await usedFolder()
    const first = spawnService({ dataDir })
    await first.said
    const stopping = first.end('SIGTERM')
    const embedded = await start(dataDir)
    await stopping
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('of services that start at the same moment on an empty folder exactly one wins', async () => {
    const dataDir = await temporaryFolder()
    const services = [1, 2, 3].map(() => spawnService({ dataDir }))
    const said = await Promise.all(services.map((service) => service.said))
    expect(said.filter(({ url }) => url !== undefined)).toHaveLength(1)
    const winner = services[said.findIndex(({ url }) => url !== undefined)]
    for (const { message } of said.filter(({ fault }) => fault)) {
      expect(message).toContain(`pid ${winner?.pid} already uses`)
    }
    await winner?.end('SIGTERM')
    expect(await processesIn(dataDir)).toEqual([])
    expect((await readdir(dataDir)).filter((name) => name.startsWith('service.lock'))).toEqual([])
  })

  test('a claim by a dead process is taken over', async () => {
    const home = await temporaryFolder()
    const passing = spawn('true')
    await once(passing, 'exit')
    await lockNaming(home, passing.pid ?? 0, 'whenever')
    const claim = await claimFolder(home, home, 0)
    await claim.release()
  })

  test('a claim whose pid now belongs to another process is taken over', async () => {
    const home = await temporaryFolder()
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore' })
    await lockNaming(home, bystander.pid ?? 0, 'from_before_the_reboot')
    const claim = await claimFolder(home, home, 0)
    await claim.release()
    bystander.kill('SIGKILL')
  })

  test('a claim by a living process holds, and what abandoned attempts left is swept', async () => {
    const home = await temporaryFolder()
    const living = spawn('sleep', ['60'], { stdio: 'ignore' })
    await lockNaming(home, living.pid ?? 0, (await birthOf(living.pid ?? 0)) ?? '')
    await mkdir(join(home, 'service.lock.999999~gone~00000000'))
    await expect(claimFolder(home, home, 100)).rejects.toThrow(`pid ${living.pid} already uses`)
    living.kill('SIGKILL')
    const claim = await claimFolder(home, home)
    expect(await readdir(home)).toEqual(['service.lock'])
    await claim.release()
    expect(await readdir(home)).toEqual([])
  })
})
