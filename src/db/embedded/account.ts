/** The account PostgreSQL runs under. It refuses root, so a service started by root lends it another. */
import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { absentAsNull, errnoOf } from './embedded-fault.ts'

export type Account = { uid: number; gid: number }

export const asRoot = (): boolean => process.getuid?.() === 0

/** What Linux distributions without an account file (minimal containers) use for it. */
const customaryNobody: Account = { uid: 65534, gid: 65534 }

const nobody = async (): Promise<Account> => {
  const accounts = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const [, uid, gid] = /^nobody:[^:]*:(-?\d+):(-?\d+):/m.exec(accounts) ?? []
  // macOS writes nobody as -2, which spawn and chown take as it stands.
  return uid !== undefined && gid !== undefined ? { uid: Number(uid), gid: Number(gid) } : customaryNobody
}

/**
 * Null: PostgreSQL runs as whoever we are. As root a cluster that an ordinary user made stays that user's,
 * so that a single `sudo` does not lock its owner out.
 */
export const serverAccount = async (cluster: string): Promise<Account | null> => {
  if (!asRoot()) return null
  const owner = await stat(cluster).catch(absentAsNull)
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody()
}

const canRead = 4
const canEnter = 1

const allows = async (path: string, { uid, gid }: Account, wanted: number): Promise<boolean> => {
  const { mode, uid: owner, gid: group } = await stat(path)
  const bits = owner === uid ? mode >> 6 : group === gid ? mode >> 3 : mode
  return (bits & wanted) === wanted
}

/** The first folder on the way to this one that the account may not pass, or null when it gets there. */
export const barrierTo = async (folder: string, account: Account): Promise<string | null> => {
  const parent = dirname(folder)
  const above = parent === folder ? null : await barrierTo(parent, account)
  if (above !== null) return above
  return (await allows(folder, account, canEnter)) ? null : folder
}

export const mayRead = async (file: string, account: Account): Promise<boolean> =>
  (await barrierTo(dirname(file), account)) === null && (await allows(file, account, canRead))

/** Node's own recursive mkdir never returns where a file system answers ENOENT for an existing parent, as /proc does. */
export const makeFolders = async (folder: string): Promise<string[]> => {
  const make = () =>
    mkdir(folder).then(
      () => [folder],
      (error) => {
        if (errnoOf(error) === 'EEXIST') return []
        throw error
      },
    )
  try {
    return await make()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error
    return [...(await makeFolders(dirname(folder))), ...(await make())]
  }
}

/** Makes the folder, and those above it that are missing, passable for every account whatever our umask is. */
export const makeOpenFolder = async (folder: string): Promise<void> => {
  for (const made of await makeFolders(folder)) await chmod(made, 0o755)
}

/** What root writes into somebody's data folder is theirs, or they could not go on without root. */
export const leaveToOwner = async (path: string): Promise<void> => {
  if (!asRoot()) return
  const { uid, gid } = await stat(dirname(path))
  await chown(path, uid, gid)
}
