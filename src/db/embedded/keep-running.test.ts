import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  lives,
  postmasterPid,
  processesIn,
  query,
  spawnService,
  start,
  until,
  usedFolder,
} from './harness.ts'

afterAll(cleanUp)

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
