import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  fastSettings,
  processesIn,
  spawnService,
  start,
  temporaryFolder,
  usedFolder,
} from '../../../../test/service/embedded.ts'
import { silentLog } from '../../ground/log.ts'
import { serverAccount } from './account.ts'
import { nativeFolder, usableBinaries } from './binaries.ts'
import { makeCluster, markOf } from './cluster.ts'
import { findLayout } from './folder.ts'
import { launch } from './postmaster.ts'
import { clusterProcesses } from './processes.ts'
import { truncateLargeLog } from './server-log.ts'

afterAll(cleanUp)

const layoutOf = async (dataDir: string) => {
  const layout = await findLayout(dataDir)
  if (layout === null) throw new Error(`${dataDir} is missing`)
  return layout
}

describe.concurrent('the server', { timeout: 30_000 }, () => {
  test('does not start on a port that is in use, and reports it', async () => {
    const layout = await layoutOf(await usedFolder())
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const account = await serverAccount(layout.cluster)
    const binaries = await usableBinaries(nativeFolder(), account, layout.dataDir)
    const mark = await markOf(layout.cluster)
    const server = { layout, account, binaries, mark, settings: fastSettings, log: silentLog() }
    expect(await launch(server, port)).toBe('port taken')
    expect(await processesIn(layout.cluster)).toEqual([])
    other.close()
  })

  test('is not confused with other processes whose working directory is its folder', async () => {
    const dataDir = await usedFolder()
    const cluster = join(dataDir, 'postgres')
    const bystander = execFile('sh', ['-c', 'sleep 60 # postgres -D'], { cwd: cluster })
    const mark = await markOf(cluster)
    expect(await clusterProcesses(mark)).toEqual([])
    const embedded = await start(dataDir)
    expect(await clusterProcesses(mark)).not.toContain(bystander.pid)
    expect((await clusterProcesses(mark)).length).toBeGreaterThan(3)
    await embedded.stop()
    bystander.kill('SIGKILL')
  })

  test('has its log truncated when it is too large', async () => {
    const file = join(await temporaryFolder(), 'postgres.log')
    await writeFile(file, Buffer.alloc(9_000_000, 'x'))
    await truncateLargeLog(file)
    expect((await stat(file)).size).toBe(0)
    await writeFile(file, 'short')
    await truncateLargeLog(file)
    expect((await stat(file)).size).toBe(5)
  })

  test('is not created when initdb fails, and the error quotes its output', async () => {
    const dataDir = await temporaryFolder()
    const bin = join(await temporaryFolder(), 'bin')
    await mkdir(bin)
    const initdb = join(bin, 'initdb')
    await writeFile(initdb, '#!/bin/sh\necho creating\necho "initdb: error: No space left on device" >&2\nexit 1\n', {
      mode: 0o755,
    })
    const layout = await layoutOf(dataDir)
    const account = await serverAccount(layout.cluster)
    const binaries = { initdb, postgres: '', version: '18' }
    await expect(makeCluster({ layout, binaries, account, durable: false })).rejects.toThrow(
      /DATA_DIR .* initdb ended with exit code 1:\n {2}creating\n {2}initdb: error: No space left on device/,
    )
    expect(await readdir(dataDir)).toEqual([])
  })

  test('is not created when the disk is full, and leaves no files', async () => {
    const dataDir = await temporaryFolder()
    const report = await spawnService({ dataDir, under: ['sh', '-c', 'ulimit -f 2000; exec "$@"', 'sh'] }).report
    expect(report.fault).toBe('OperatorFault')
    expect(report.message).toMatch(/Could not create the embedded database .* initdb ended with/)
    expect(await readdir(dataDir)).toEqual([])
  })
})
