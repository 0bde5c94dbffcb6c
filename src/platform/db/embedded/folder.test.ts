import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  postmasterPid,
  processesIn,
  query,
  run,
  spawnService,
  start,
  temporaryFolder,
  unprivileged,
  usedFolder,
} from '../../../../test/service/embedded.ts'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { asRoot } from './account.ts'
import { prepareFolder } from './folder.ts'
import { findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

const kept = [{ word: 'kept' }]

const faultOf = async (starting: Promise<unknown>): Promise<string> => {
  const result = await starting.catch((error) => error)
  if (!(result instanceof OperatorFault))
    throw new Error('the start did not fail with an OperatorFault', { cause: result })
  return result.message
}

/** A folder that only its owner may enter, such as /root. */
const privateFolder = async () => {
  const folder = await temporaryFolder()
  await chmod(folder, 0o700)
  return { dataDir: join(folder, 'data'), sharedDir: join(await temporaryFolder(), 'shared') }
}

/** A private folder whose database an earlier start created in the shared folder. */
const privateUsedFolder = async () => {
  const { dataDir, sharedDir } = await privateFolder()
  const used = await usedFolder()
  const home = join(sharedDir, '0123456789abcdef')
  await mkdir(sharedDir)
  await mkdir(home)
  await rename(join(used, 'postgres'), join(home, 'postgres'))
  await rename(used, dataDir)
  await writeFile(join(dataDir, 'postgres.location'), `${home}\n`)
  return { dataDir, sharedDir }
}

/** A folder that an unprivileged user owns. */
const unprivilegedFolder = async () => {
  const dataDir = await temporaryFolder()
  if (unprivileged) await chown(dataDir, unprivileged.uid, unprivileged.gid)
  return dataDir
}

describe.concurrent('DATA_DIR', { timeout: 30_000 }, () => {
  test('a read-only folder is rejected and not changed', async () => {
    const dataDir = await temporaryFolder()
    await chmod(dataDir, 0o555)
    expect(await faultOf(start(dataDir))).toMatch(new RegExp(`^DATA_DIR is ${dataDir}, which is read-only`))
    expect(await readdir(dataDir)).toEqual([])
    await chmod(dataDir, 0o755)
  })

  test('a path through a file is rejected', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')
    expect(await faultOf(start(file))).toMatch(`DATA_DIR is ${file}, but it or one of its parents is not a folder`)
    expect(await faultOf(start(join(file, 'data')))).toMatch(`DATA_DIR is ${file}/data`)
  })

  test('a folder that cannot be created is rejected', async () => {
    expect(await faultOf(start('/proc/tidings/data'))).toMatch(
      /DATA_DIR is \/proc\/tidings\/data, which cannot be created/,
    )
  })

  test.runIf(asRoot())('an unprivileged user gets an error for a folder without write permission', async () => {
    const dataDir = await temporaryFolder()
    const report = await spawnService({ dataDir, as: unprivileged }).report
    expect(report).toMatchObject({ fault: 'OperatorFault' })
    expect(report.message).toMatch(`DATA_DIR is ${dataDir}, which is read-only for this user (EACCES)`)
  })

  test.runIf(asRoot())('an unprivileged user gets an error for a database of another user', async () => {
    const dataDir = await usedFolder()
    await chmod(dataDir, 0o777)
    const report = await spawnService({ dataDir, as: { uid: 1, gid: 1 } }).report
    expect(report.message).toMatch(`belongs to uid ${(await stat(join(dataDir, 'postgres'))).uid}`)
  })

  test('files of an unprivileged user stay in DATA_DIR and keep their owner, even after a start as root', async () => {
    const dataDir = await unprivilegedFolder()
    const first = spawnService({ dataDir, as: unprivileged, sharedDir: join(dataDir, 'must-not-be-created') })
    const { url, adopted } = await first.report
    expect(adopted).toBe(false)
    await query(url, `create table kept as select 'kept' as word`)
    const owner = (await stat(dataDir)).uid
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(owner)
    await first.end('SIGKILL')
    const second = spawnService({ dataDir, as: unprivileged, sharedDir: join(dataDir, 'must-not-be-created') })
    expect(await second.report).toEqual({ url, adopted: true })
    expect(await query(url, 'select word from kept')).toEqual(kept)
    await second.end('SIGTERM')
    expect(await processesIn(dataDir)).toEqual([])
    expect((await readdir(dataDir)).sort()).toEqual([
      'postgres',
      'postgres.log',
      'postgres.maintenance',
      'postgres.password',
    ])

    // After one start as root, all files keep their owner, including the log file that this start creates.
    await rm(join(dataDir, 'postgres.log'))
    const embedded = await start(dataDir)
    const status = await readFile(`/proc/${await postmasterPid(join(dataDir, 'postgres'))}/status`, 'utf8')
    expect(status).toMatch(new RegExp(`^Uid:\t${owner}\t`, 'm'))
    await embedded.stop()
    const third = spawnService({ dataDir, as: unprivileged })
    expect(await third.report).toMatchObject({ adopted: false })
    await third.end('SIGTERM')
  })

  test.runIf(asRoot())('a private DATA_DIR is opened so that PostgreSQL can enter but not list it', async () => {
    const dataDir = await usedFolder()
    await chmod(dataDir, 0o700)
    const embedded = await start(dataDir, { sharedDir: join(dataDir, 'must-not-be-created') })
    expect((await stat(dataDir)).mode & 0o777).toBe(0o711)
    await embedded.stop()
    expect((await readdir(dataDir)).sort()).toEqual([
      'postgres',
      'postgres.log',
      'postgres.maintenance',
      'postgres.password',
    ])
  })

  test.runIf(asRoot())(
    'a user id without a name, which initdb does not support, is reported with instructions',
    async () => {
      const dataDir = await temporaryFolder()
      await chmod(dataDir, 0o777)
      const report = await spawnService({ dataDir, as: { uid: 54321, gid: 54321 } }).report
      expect(report.message).toMatch(/Add this user id to \/etc\/passwd, or set DATABASE_URL\.$/)
    },
  )
})

describe
  .runIf(asRoot())
  .concurrent('a DATA_DIR in a private folder, for a service run by root,', { timeout: 30_000 }, () => {
    test('keeps its database in a shared folder and points to it, whatever the umask', async () => {
      const { dataDir, sharedDir } = await privateFolder()
      const strict = ['sh', '-c', 'umask 077; exec "$@"', 'sh']
      const first = spawnService({ dataDir, sharedDir, under: strict })
      const { url = '' } = await first.report
      await query(url, `create table kept as select 'kept' as word`)
      const [home = '', explanation] = (await readFile(join(dataDir, 'postgres.location'), 'utf8')).split('\n')
      expect(home.startsWith(`${sharedDir}/`)).toBe(true)
      expect(explanation).toContain('keeps its data there')
      expect(await readFile(join(home, 'belongs-to'), 'utf8')).toBe(`${dataDir}\n`)
      expect(await findEmbedded(dataDir)).toBe(url)
      await first.end('SIGTERM')
      const again = await start(dataDir, { sharedDir })
      expect(await query(again.url, 'select word from kept')).toEqual(kept)
      await again.stop()
      expect(await processesIn(sharedDir)).toEqual([])
      expect((await readdir(dataDir)).sort()).toEqual([
        'postgres.location',
        'postgres.log',
        'postgres.maintenance',
        'postgres.password',
      ])
    })

    test('has its server adopted after a kill, and only by one service, even through a copy of DATA_DIR', async () => {
      const { dataDir, sharedDir } = await privateUsedFolder()
      const killed = spawnService({ dataDir, sharedDir })
      const { url } = await killed.report
      await killed.end('SIGKILL')
      const embedded = await start(dataDir, { sharedDir })
      expect(embedded).toMatchObject({ url, adopted: true })
      const copy = `${dataDir}-copy`
      await run('cp', ['-a', dataDir, copy])
      expect(await faultOf(start(copy, { sharedDir }))).toContain(`pid ${process.pid} already uses DATA_DIR ${copy}`)
      await embedded.stop()
    })

    test('finds its database after it is moved, and a new one with the old name starts empty', async () => {
      const { dataDir, sharedDir } = await privateUsedFolder()
      await rename(dataDir, `${dataDir}-moved`)
      const moved = await start(`${dataDir}-moved`, { sharedDir })
      const fresh = await start(dataDir, { sharedDir })
      expect(await query(moved.url, 'select word from kept')).toEqual(kept)
      await expect(query(fresh.url, 'select word from kept')).rejects.toThrow(/does not exist/)
      await Promise.all([moved.stop(), fresh.stop()])
    })

    test('that no longer exists leaves its database, which the next start in the shared folder reports', async () => {
      const removed = await privateFolder()
      const next = await privateFolder()
      const first = await prepareFolder(removed.dataDir, removed.sharedDir)
      expect(first.movedOut).toEqual({ abandoned: [] })
      await rm(removed.dataDir, { recursive: true })
      const second = await prepareFolder(next.dataDir, removed.sharedDir)
      expect(second.movedOut).toEqual({ abandoned: [first.layout.home] })
      expect((await readdir(removed.sharedDir)).length).toBe(2)
    })

    test('does not replace a missing database with an empty one', async () => {
      const { dataDir, sharedDir } = await privateUsedFolder()
      await rm(sharedDir, { recursive: true })
      expect(await faultOf(start(dataDir, { sharedDir }))).toContain(`DATA_DIR ${dataDir} had a database`)
    })

    test('is rejected when the shared folder cannot be created', async () => {
      const { dataDir } = await privateFolder()
      expect(await faultOf(start(dataDir, { sharedDir: '/proc/tidings' }))).toMatch(
        /neither enter DATA_DIR .* Set DATA_DIR/,
      )
    })

    test('with a database that became unreachable is rejected, with the folder that blocks access', async () => {
      const dataDir = await usedFolder()
      await chmod(join(dataDir, '..'), 0o700)
      expect(await faultOf(start(dataDir))).toContain(`Run \`chmod o+x ${join(dataDir, '..')}\``)
    })
  })
