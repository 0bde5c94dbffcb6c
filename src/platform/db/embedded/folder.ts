/** Locates the embedded database: in DATA_DIR or, if the server's account cannot enter it, in a shared folder. */
import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, chmod, link, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { type Account, asRoot, blockingFolder, makeFolders, makeOpenFolder, serverAccount } from './account.ts'
import { absentAsNull, errnoOf, nullFor } from './errno.ts'

export type Layout = {
  /** DATA_DIR without symbolic links. */
  dataDir: string
  /** The folder of the cluster and its lock: DATA_DIR, or the folder that the pointer file in it names. */
  home: string
  cluster: string
  passwordFile: string
  /** The password of the maintenance role. */
  maintenanceFile: string
  logFile: string
}

const layoutAt = (dataDir: string, home: string): Layout => ({
  dataDir,
  home,
  cluster: join(home, 'postgres'),
  passwordFile: join(dataDir, 'postgres.password'),
  maintenanceFile: join(dataDir, 'postgres.maintenance'),
  logFile: join(dataDir, 'postgres.log'),
})

const pointerFile = (dataDir: string) => join(dataDir, 'postgres.location')

const readPointer = async (dataDir: string): Promise<string | null> => {
  const text = await readFile(pointerFile(dataDir), 'utf8').catch(absentAsNull)
  return text?.split('\n')[0]?.trim() || null
}

const notFolder = 'but it or one of its parents is not a folder'
const remedy = 'Choose another folder with DATA_DIR, or set DATABASE_URL.'

/** Makes DATA_DIR if it is missing, checks that it is writable, and returns its real path. */
const writableFolder = async (configured: string): Promise<string> => {
  const folder = resolve(configured)
  const subject = `DATA_DIR is ${folder}`
  try {
    await makeFolders(folder)
    const found = await stat(folder)
    if (!found.isDirectory()) throw new OperatorFault(`${subject}, ${notFolder}. ${remedy}`)
    // Root can write anywhere, but a folder without any write bit is meant to stay unchanged.
    if (asRoot() && (found.mode & 0o222) === 0) throw new OperatorFault(`${subject}, which is read-only. ${remedy}`)
    await access(folder, constants.W_OK | constants.X_OK)
    return await realpath(folder)
  } catch (cause) {
    if (cause instanceof OperatorFault) throw cause
    const code = errnoOf(cause)
    if (code === 'ENOTDIR') throw new OperatorFault(`${subject}, ${notFolder}. ${remedy}`, { cause })
    const problem = existsSync(folder) ? 'which is read-only for this user' : 'which cannot be created'
    throw new OperatorFault(`${subject}, ${problem} (${code}). ${remedy}`, { cause })
  }
}

/** An empty folder named after DATA_DIR's path. A folder in use belongs to an earlier DATA_DIR with the same path. */
const freeSharedFolder = async (dataDir: string, sharedDir: string): Promise<string> => {
  const key = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  for (let n = 1; ; n++) {
    const folder = join(sharedDir, n === 1 ? key : `${key}-${n}`)
    const files = await readdir(folder).catch(absentAsNull)
    if (files === null || files.length === 0) return folder
  }
}

const moveToSharedFolder = async (dataDir: string, sharedDir: string): Promise<string> => {
  const folder = await freeSharedFolder(dataDir, sharedDir)
  const draft = `${pointerFile(dataDir)}.${process.pid}`
  await writeFile(
    draft,
    `${folder}\nThe embedded PostgreSQL keeps its data there. The service runs as root but PostgreSQL must not, ` +
      'and the account it runs under cannot enter this folder.\n',
  )
  // A link is created complete and only if none exists, so two services that start at the same time use the same one.
  await link(draft, pointerFile(dataDir)).catch(nullFor('EEXIST'))
  await rm(draft)
  return (await readPointer(dataDir)) ?? folder
}

const prepareHome = async (home: string, dataDir: string): Promise<void> => {
  try {
    await makeOpenFolder(home)
    await writeFile(join(home, 'belongs-to'), `${dataDir}\n`)
  } catch (cause) {
    throw new OperatorFault(
      `The service runs as root but PostgreSQL must not, and its account can neither enter DATA_DIR (${dataDir}) ` +
        `nor use ${home} (${errnoOf(cause)}). Set DATA_DIR to a folder that every user may enter, ` +
        'or set DATABASE_URL.',
      { cause },
    )
  }
}

/**
 * Databases whose DATA_DIR no longer exists or now has another database. No service will start them again, and nothing
 * else reports the space they use.
 */
const abandonedIn = async (sharedDir: string): Promise<string[]> => {
  const abandoned: string[] = []
  for (const name of (await readdir(sharedDir).catch(absentAsNull)) ?? []) {
    const home = join(sharedDir, name)
    const owner = await readFile(join(home, 'belongs-to'), 'utf8').catch(absentAsNull)
    if (owner !== null && (await readPointer(owner.trim())) !== home) abandoned.push(home)
  }
  return abandoned
}

const assertReachable = async (layout: Layout, account: Account): Promise<void> => {
  const blocking = await blockingFolder(layout.home, account)
  if (blocking === null) return
  throw new OperatorFault(
    `The database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) belongs to uid ${account.uid}, which may ` +
      `not enter ${blocking}. Run \`chmod o+x ${blocking}\`, or start the service as that user.`,
  )
}

const assertOwn = async (layout: Layout): Promise<void> => {
  const owner = await stat(layout.cluster).catch(absentAsNull)
  if (owner === null || owner.uid === process.getuid?.()) return
  throw new OperatorFault(
    `The database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) belongs to uid ${owner.uid}. ` +
      'Start the service as that user or as root, or set another DATA_DIR.',
  )
}

/**
 * Lets other users enter (but not list) DATA_DIR. Secret files in it have their own modes, so this is better than
 * storing the data outside the volume that the operator chose.
 */
const allowEntry = async (dataDir: string, account: Account): Promise<void> => {
  if ((await blockingFolder(dataDir, account)) !== dataDir) return
  const { mode } = await stat(dataDir)
  await chmod(dataDir, (mode & 0o7777) | 0o011)
}

/** `movedOut` is set when this start chose a folder outside DATA_DIR, with the abandoned databases that it found there. */
export const prepareFolder = async (configured: string, sharedDir: string) => {
  const dataDir = await writableFolder(configured)
  const pointer = await readPointer(dataDir)
  const layout = layoutAt(dataDir, pointer ?? dataDir)
  const account = await serverAccount(layout.cluster)
  if (account === null) {
    await assertOwn(layout)
    return { layout, account }
  }
  await allowEntry(dataDir, account)
  const hasCluster = (await stat(layout.cluster).catch(absentAsNull)) !== null
  if (pointer === null && !hasCluster && (await blockingFolder(dataDir, account)) !== null) {
    const home = await moveToSharedFolder(dataDir, sharedDir)
    await prepareHome(home, dataDir)
    return { layout: layoutAt(dataDir, home), account, movedOut: { abandoned: await abandonedIn(sharedDir) } }
  }
  if (pointer !== null) await prepareHome(layout.home, dataDir)
  await assertReachable(layout, account)
  return { layout, account }
}

/** The layout of an existing data folder, or null. Changes nothing. */
export const findLayout = async (configured: string): Promise<Layout | null> => {
  const dataDir = await realpath(resolve(configured)).catch(absentAsNull)
  return dataDir === null ? null : layoutAt(dataDir, (await readPointer(dataDir)) ?? dataDir)
}
