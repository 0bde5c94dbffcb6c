/** The account that PostgreSQL runs under. It refuses to run as root, so a service run by root uses another one. */
import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { absentAsNull, errnoOf, nullFor } from './errno.ts'

export type Account = { uid: number; gid: number }

export const asRoot = (): boolean => process.getuid?.() === 0

/** The usual ids of nobody, for minimal containers without /etc/passwd. */
const defaultNobody: Account = { uid: 65534, gid: 65534 }

/** Reads /etc/passwd. An account with uid 0 is root under another name. */
const namedAccount = (passwd: string, name: string): Account | undefined => {
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([found]) => found === name)
  // On macOS nobody is -2, which spawn and chown accept.
  const [uid, gid] = [Number(fields?.[2] || Number.NaN), Number(fields?.[3] || Number.NaN)]
  return Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0 ? { uid, gid } : undefined
}

/** Programs of other services run as nobody too and could read the database, so an account of its own is preferred. */
export const accountIn = (passwd: string): Account =>
  namedAccount(passwd, 'tidings') ?? namedAccount(passwd, 'nobody') ?? defaultNobody

/**
 * Null: PostgreSQL runs under the account of this process. When this process is root, a cluster that another user made
 * keeps its owner, so that one start with `sudo` does not lock that user out.
 */
export const serverAccount = async (cluster: string): Promise<Account | null> => {
  if (!asRoot()) return null
  const owner = await stat(cluster).catch(absentAsNull)
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  return accountIn(await readFile('/etc/passwd', 'utf8').catch(() => ''))
}

const canRead = 4
const canEnter = 1

const allows = async (path: string, { uid, gid }: Account, wanted: number): Promise<boolean> => {
  const { mode, uid: owner, gid: group } = await stat(path)
  const bits = owner === uid ? mode >> 6 : group === gid ? mode >> 3 : mode
  return (bits & wanted) === wanted
}

/** The topmost folder on the path that the account may not enter, or null when it may enter all of them. */
export const blockingFolder = async (folder: string, account: Account): Promise<string | null> => {
  const parent = dirname(folder)
  const blockingParent = parent === folder ? null : await blockingFolder(parent, account)
  if (blockingParent !== null) return blockingParent
  return (await allows(folder, account, canEnter)) ? null : folder
}

export const mayRead = async (file: string, account: Account): Promise<boolean> =>
  (await blockingFolder(dirname(file), account)) === null && (await allows(file, account, canRead))

/**
 * A recursive mkdir that returns the folders it made. Node's own never returns when the file system reports ENOENT for
 * an existing parent, as /proc does.
 */
export const makeFolders = async (folder: string): Promise<string[]> => {
  const make = async () => (await mkdir(folder).then(() => [folder], nullFor('EEXIST'))) ?? []
  try {
    return await make()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error
    return [...(await makeFolders(dirname(folder))), ...(await make())]
  }
}

/** Makes the folder and its missing parents. Every account may enter them, whatever our umask is. */
export const makeOpenFolder = async (folder: string): Promise<void> => {
  for (const made of await makeFolders(folder)) await chmod(made, 0o755)
}

/** Gives a file that root wrote to the owner of its folder, who could not run the service without root otherwise. */
export const giveToFolderOwner = async (path: string): Promise<void> => {
  if (!asRoot()) return
  const { uid, gid } = await stat(dirname(path))
  await chown(path, uid, gid)
}
