/** Where one service's embedded database lives: in DATA_DIR or, when its account cannot get in there, elsewhere. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, chmod, link, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Account, asRoot, barrierTo, makeFolders, makeOpenFolder, serverAccount } from './account.ts'
import { absentAsNull, EmbeddedFault, errnoOf } from './embedded-fault.ts'

export type Layout = {
  /** DATA_DIR without symbolic links. */
  dataDir: string
  /** The folder that holds the cluster and its lock: DATA_DIR, or the one its pointer names. */
  home: string
  cluster: string
  passwordFile: string
  logFile: string
}

const layoutAt = (dataDir: string, home: string): Layout => ({
  dataDir,
  home,
  cluster: join(home, 'postgres'),
  passwordFile: join(dataDir, 'postgres.password'),
  logFile: join(dataDir, 'postgres.log'),
})

const pointerIn = (dataDir: string) => join(dataDir, 'postgres.location')

const readPointer = async (dataDir: string): Promise<string | null> => {
  const text = await readFile(pointerIn(dataDir), 'utf8').catch(absentAsNull)
  return text?.split('\n')[0]?.trim() || null
}

const notFolder = 'but that or a part of it is not a folder'
const elsewhere = 'Choose another folder with DATA_DIR, or set DATABASE_URL.'

/** Makes DATA_DIR when it is missing, refuses one that cannot be written to, and answers its real path. */
const writableFolder = async (given: string): Promise<string> => {
  const folder = resolve(given)
  const named = `DATA_DIR is ${folder}`
  try {
    await makeFolders(folder)
    const found = await stat(folder)
    if (!found.isDirectory()) throw new EmbeddedFault(`${named}, ${notFolder}. ${elsewhere}`)
    // Root may write anywhere, yet whoever took every write bit away meant the folder to stay as it is.
    if (asRoot() && (found.mode & 0o222) === 0) throw new EmbeddedFault(`${named}, which is read-only. ${elsewhere}`)
    await access(folder, constants.W_OK | constants.X_OK)
    return await realpath(folder)
  } catch (cause) {
    if (cause instanceof EmbeddedFault) throw cause
    const code = errnoOf(cause)
    if (code === 'ENOTDIR') throw new EmbeddedFault(`${named}, ${notFolder}. ${elsewhere}`, { cause })
    const exists = await stat(folder).then(
      () => true,
      () => false,
    )
    const problem = exists ? 'which is read-only for this user' : 'which cannot be created'
    throw new EmbeddedFault(`${named}, ${problem} (${code}). ${elsewhere}`, { cause })
  }
}

/** A free folder keyed by DATA_DIR's path; one in use belongs to an earlier DATA_DIR of that name and stays. */
const freeSharedFolder = async (dataDir: string, sharedDir: string): Promise<string> => {
  const key = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  for (let n = 1; ; n++) {
    const folder = join(sharedDir, n === 1 ? key : `${key}-${n}`)
    const held = await readdir(folder).catch(absentAsNull)
    if (held === null || held.length === 0) return folder
  }
}

const moveOut = async (dataDir: string, sharedDir: string): Promise<string> => {
  const folder = await freeSharedFolder(dataDir, sharedDir)
  const draft = `${pointerIn(dataDir)}.${process.pid}`
  await writeFile(
    draft,
    `${folder}\nThe embedded PostgreSQL keeps its data there: the service runs as root, PostgreSQL must not, ` +
      'and the account it runs under cannot enter this folder.\n',
  )
  // A link is made only if there is none, and whole: of two services starting at once both follow the same one.
  await link(draft, pointerIn(dataDir)).catch((error) => {
    if (errnoOf(error) !== 'EEXIST') throw error
  })
  await rm(draft)
  return (await readPointer(dataDir)) ?? folder
}

const openHome = async (home: string, dataDir: string): Promise<void> => {
  try {
    await makeOpenFolder(home)
    await writeFile(join(home, 'belongs-to'), `${dataDir}\n`)
  } catch (cause) {
    throw new EmbeddedFault(
      `The service runs as root, PostgreSQL must not, and its account can neither enter DATA_DIR (${dataDir}) ` +
        `nor be given ${home} (${errnoOf(cause)}). Set DATA_DIR to a folder that every user may pass through, ` +
        'or set DATABASE_URL.',
      { cause },
    )
  }
}

/** Databases whose data folder is gone or has another by now: nobody will start them, and nobody else sees their size. */
const abandonedIn = async (sharedDir: string): Promise<string[]> => {
  const abandoned: string[] = []
  for (const name of (await readdir(sharedDir).catch(absentAsNull)) ?? []) {
    const home = join(sharedDir, name)
    const owner = await readFile(join(home, 'belongs-to'), 'utf8').catch(absentAsNull)
    if (owner !== null && (await readPointer(owner.trim())) !== home) abandoned.push(home)
  }
  return abandoned
}

const refuseUnreachable = async (layout: Layout, account: Account): Promise<void> => {
  const barrier = await barrierTo(layout.home, account)
  if (barrier === null) return
  throw new EmbeddedFault(
    `The database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) belongs to uid ${account.uid}, which may ` +
      `not pass through ${barrier}. Run \`chmod o+x ${barrier}\`, or start the service as that user.`,
  )
}

const refuseForeign = async (layout: Layout): Promise<void> => {
  const owner = await stat(layout.cluster).catch(absentAsNull)
  if (owner === null || owner.uid === process.getuid?.()) return
  throw new EmbeddedFault(
    `The database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) belongs to uid ${owner.uid}. ` +
      'Start the service as that user or as root, or set another DATA_DIR.',
  )
}

/**
 * DATA_DIR is ours to arrange: what is secret in it has its own mode, so letting others pass (not list) is better
 * than keeping the data out of the volume it was given.
 */
const letPass = async (dataDir: string, account: Account): Promise<void> => {
  if ((await barrierTo(dataDir, account)) !== dataDir) return
  const { mode } = await stat(dataDir)
  await chmod(dataDir, (mode & 0o7777) | 0o011)
}

export type FolderPlace = {
  layout: Layout
  account: Account | null
  /** Set when this start chose a folder outside DATA_DIR, with what earlier ones left beside it. */
  movedOut?: { abandoned: string[] }
}

export const prepareFolder = async (given: string, sharedDir: string): Promise<FolderPlace> => {
  const dataDir = await writableFolder(given)
  const pointer = await readPointer(dataDir)
  const layout = layoutAt(dataDir, pointer ?? dataDir)
  const account = await serverAccount(layout.cluster)
  if (account === null) {
    await refuseForeign(layout)
    return { layout, account }
  }
  await letPass(dataDir, account)
  const made = (await stat(layout.cluster).catch(absentAsNull)) !== null
  if (pointer === null && !made && (await barrierTo(dataDir, account)) !== null) {
    const home = await moveOut(dataDir, sharedDir)
    await openHome(home, dataDir)
    return { layout: layoutAt(dataDir, home), account, movedOut: { abandoned: await abandonedIn(sharedDir) } }
  }
  if (pointer !== null) await openHome(layout.home, dataDir)
  await refuseUnreachable(layout, account)
  return { layout, account }
}

/** The layout of a data folder that a service may have prepared; changes nothing. */
export const findLayout = async (given: string): Promise<Layout | null> => {
  const dataDir = await realpath(resolve(given)).catch(absentAsNull)
  return dataDir === null ? null : layoutAt(dataDir, (await readPointer(dataDir)) ?? dataDir)
}
