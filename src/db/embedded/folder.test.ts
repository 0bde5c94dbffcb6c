import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { asRoot } from './account.ts'
import { prepareFolder } from './folder.ts'
import {
  cleanUp,
  ordinary,
  postmasterPid,
  processesIn,
  query,
  run,
  spawnService,
  start,
  temporaryFolder,
  usedFolder,
} from './harness.ts'
import { EmbeddedFault, findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

const kept = [{ word: 'kept' }]

const faultOf = async (starting: Promise<unknown>): Promise<string> => {
  const fault = await starting.catch((error) => error)
  if (!(fault instanceof EmbeddedFault)) throw new Error('it started', { cause: fault })
  return fault.message
}

/** A folder that its owner alone may enter, as /root is. */
const privateFolder = async () => {
  const folder = await temporaryFolder()
  await chmod(folder, 0o700)
  return { dataDir: join(folder, 'data'), sharedDir: join(await temporaryFolder(), 'shared') }
}

/** A private folder whose database an earlier start put elsewhere. */
const privateUsedFolder = async () => {
  const { dataDir, sharedDir } = await privateFolder()
  const [used, home] = [await usedFolder(), join(sharedDir, '0123456789abcdef')]
  await mkdir(sharedDir)
  await mkdir(home)
  await rename(join(used, 'postgres'), join(home, 'postgres'))
  await rename(used, dataDir)
  await writeFile(join(dataDir, 'postgres.location'), `${home}\n`)
  return { dataDir, sharedDir }
}

/** A folder that an ordinary user owns. */
const ordinaryFolder = async () => {
  const dataDir = await temporaryFolder()
  if (ordinary) await chown(dataDir, ordinary.uid, ordinary.gid)
  return dataDir
}

describe.concurrent('DATA_DIR', { timeout: 30_000 }, () => {
  test('a folder without write permission is refused by name, and left as it is', async () => {
    const dataDir = await temporaryFolder()
    await chmod(dataDir, 0o555)
    expect(await faultOf(start(dataDir))).toMatch(new RegExp(`^DATA_DIR is ${dataDir}, which is read-only`))
    expect(await readdir(dataDir)).toEqual([])
    await chmod(dataDir, 0o755)
  })

  test('a path that leads through a file is refused by name', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')
    expect(await faultOf(start(file))).toMatch(`DATA_DIR is ${file}, but that or a part of it is not a folder`)
    expect(await faultOf(start(join(file, 'data')))).toMatch(`DATA_DIR is ${file}/data`)
  })

  test('a folder that cannot be created is refused by name', async () => {
    expect(await faultOf(start('/proc/tidings/data'))).toMatch(
      /DATA_DIR is \/proc\/tidings\/data, which cannot be created/,
    )
  })

  test.runIf(asRoot())('an ordinary user is told of a folder that is not theirs to write to', async () => {
    const dataDir = await temporaryFolder()
    const said = await spawnService({ dataDir, as: ordinary }).said
    expect(said).toMatchObject({ fault: 'EmbeddedFault' })
    expect(said.message).toMatch(`DATA_DIR is ${dataDir}, which is read-only for this user (EACCES)`)
  })

  test.runIf(asRoot())('an ordinary user is told of a database that belongs to somebody else', async () => {
    const dataDir = await usedFolder()
    await chmod(dataDir, 0o777)
    const said = await spawnService({ dataDir, as: { uid: 1, gid: 1 } }).said
    expect(said.message).toMatch(`belongs to uid ${(await stat(join(dataDir, 'postgres'))).uid}`)
  })

  test('for an ordinary user everything stays in DATA_DIR and stays theirs, even after a start as root', async () => {
    const dataDir = await ordinaryFolder()
    const first = spawnService({ dataDir, as: ordinary, sharedDir: join(dataDir, 'must-not-be-made') })
    const { url, adopted } = await first.said
    expect(adopted).toBe(false)
    await query(url, `create table kept as select 'kept' as word`)
    const owner = (await stat(dataDir)).uid
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(owner)
    await first.end('SIGKILL')
    const second = spawnService({ dataDir, as: ordinary, sharedDir: join(dataDir, 'must-not-be-made') })
    expect(await second.said).toEqual({ url, adopted: true })
    expect(await query(url, 'select word from kept')).toEqual(kept)
    await second.end('SIGTERM')
    expect(await processesIn(dataDir)).toEqual([])
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password'])

    // Once as root: it stays theirs, down to the log file that this start makes anew.
    await rm(join(dataDir, 'postgres.log'))
    const embedded = await start(dataDir)
    const status = await readFile(`/proc/${await postmasterPid(join(dataDir, 'postgres'))}/status`, 'utf8')
    expect(status).toMatch(new RegExp(`^Uid:\t${owner}\t`, 'm'))
    await embedded.stop()
    const third = spawnService({ dataDir, as: ordinary })
    expect(await third.said).toMatchObject({ adopted: false })
    await third.end('SIGTERM')
  })

  test.runIf(asRoot())(
    'a folder of ours that is closed to others lets PostgreSQL pass and stays closed to listing',
    async () => {
      const dataDir = await usedFolder()
      await chmod(dataDir, 0o700)
      const embedded = await start(dataDir, { sharedDir: join(dataDir, 'must-not-be-made') })
      expect((await stat(dataDir)).mode & 0o777).toBe(0o711)
      await embedded.stop()
      expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password'])
    },
  )

  test.runIf(asRoot())('a user id without a name, which initdb cannot work with, is told what to do', async () => {
    const dataDir = await temporaryFolder()
    await chmod(dataDir, 0o777)
    const said = await spawnService({ dataDir, as: { uid: 54321, gid: 54321 } }).said
    expect(said.message).toMatch(/Give this user id a name in \/etc\/passwd, or set DATABASE_URL\.$/)
  })
})

describe.runIf(asRoot()).concurrent('a private DATA_DIR of a service run by root', { timeout: 30_000 }, () => {
  test('its database is kept in a shared folder, which DATA_DIR points to, whatever the umask', async () => {
    const { dataDir, sharedDir } = await privateFolder()
    const strict = ['sh', '-c', 'umask 077; exec "$@"', 'sh']
    const first = spawnService({ dataDir, sharedDir, under: strict })
    const { url = '' } = await first.said
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
    expect((await readdir(dataDir)).sort()).toEqual(['postgres.location', 'postgres.log', 'postgres.password'])
  })

  test('it is taken over after a kill, and only one service gets it, even through a copy of DATA_DIR', async () => {
    const { dataDir, sharedDir } = await privateUsedFolder()
    const killed = spawnService({ dataDir, sharedDir })
    const { url } = await killed.said
    await killed.end('SIGKILL')
    const embedded = await start(dataDir, { sharedDir })
    expect(embedded).toMatchObject({ url, adopted: true })
    const copy = `${dataDir}-copy`
    await run('cp', ['-a', dataDir, copy])
    expect(await faultOf(start(copy, { sharedDir }))).toContain(`pid ${process.pid} already uses DATA_DIR ${copy}`)
    await embedded.stop()
  })

  test('a DATA_DIR that was moved finds its database; a new one under the old name starts empty beside it', async () => {
    const { dataDir, sharedDir } = await privateUsedFolder()
    await rename(dataDir, `${dataDir}-moved`)
    const moved = await start(`${dataDir}-moved`, { sharedDir })
    const fresh = await start(dataDir, { sharedDir })
    expect(await query(moved.url, 'select word from kept')).toEqual(kept)
    await expect(query(fresh.url, 'select word from kept')).rejects.toThrow(/does not exist/)
    await Promise.all([moved.stop(), fresh.stop()])
  })

  test('a database elsewhere whose DATA_DIR is gone is kept, and pointed out to the next that moves there', async () => {
    const [gone, next] = [await privateFolder(), await privateFolder()]
    const first = await prepareFolder(gone.dataDir, gone.sharedDir)
    expect(first.movedOut).toEqual({ abandoned: [] })
    await rm(gone.dataDir, { recursive: true })
    const second = await prepareFolder(next.dataDir, gone.sharedDir)
    expect(second.movedOut).toEqual({ abandoned: [first.layout.home] })
    expect((await readdir(gone.sharedDir)).length).toBe(2)
  })

  test('its vanished database is not silently replaced by an empty one', async () => {
    const { dataDir, sharedDir } = await privateUsedFolder()
    await rm(sharedDir, { recursive: true })
    expect(await faultOf(start(dataDir, { sharedDir }))).toContain(`DATA_DIR ${dataDir} had a database`)
  })

  test('a shared folder that cannot be made is refused, naming DATA_DIR', async () => {
    const { dataDir } = await privateFolder()
    expect(await faultOf(start(dataDir, { sharedDir: '/proc/tidings' }))).toMatch(
      /neither enter DATA_DIR .* Set DATA_DIR/,
    )
  })

  test('a database that became unreachable stays where it is, and the folder in the way is named', async () => {
    const dataDir = await usedFolder()
    await chmod(join(dataDir, '..'), 0o700)
    expect(await faultOf(start(dataDir))).toContain(`Run \`chmod o+x ${join(dataDir, '..')}\``)
  })
})
