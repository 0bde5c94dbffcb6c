/** The cluster on disk: creates it, manages its password, and reads the pid file of its server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chown, mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { type Account, giveToFolderOwner } from './account.ts'
import type { Binaries } from './binaries.ts'
import { absentAsNull, lastLines } from './errno.ts'
import type { Layout } from './folder.ts'
import type { ClusterMark } from './processes.ts'

/** The role of the service. It owns the database and its tables, and has no other rights. */
export const role = 'tidings'
/** The superuser. It makes the role and the database, and no connection of the service uses it. */
export const maintenanceRole = 'tidings_maintenance'
export const database = 'tidings'

export const roleDefinition = (password: string): string =>
  `create role ${role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${password}'`

/** PostgreSQL does not inherit our environment, which contains secrets and could change its locale and time zone. */
export const serverEnvironment = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/**
 * A separate session, so that Ctrl-C in a terminal does not reach the server. The working directory is `/`, because the
 * account may not be allowed to enter ours.
 */
export const serverSpawn = (account: Account | null) => ({
  cwd: '/',
  env: serverEnvironment,
  detached: true,
  ...account,
})

const finished = (tool: ChildProcess): Promise<{ ended: string | null; output: string }> =>
  new Promise((resolve, reject) => {
    let output = ''
    for (const stream of [tool.stdout, tool.stderr]) {
      stream?.on('data', (text) => {
        output += text
      })
    }
    tool.on('error', reject)
    tool.on('close', (code, signal) => resolve({ ended: code === 0 ? null : (signal ?? `exit code ${code}`), output }))
  })

const draftPrefix = 'postgres.init-'

export const newPassword = () => randomBytes(24).toString('base64url')

const sync = async (path: string) => {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}

type ClusterOptions = { layout: Layout; binaries: Binaries; account: Account | null; durable: boolean }

const initdb = async (draft: string, { layout, binaries, account, durable }: ClusterOptions) => {
  const tool = spawn(
    binaries.initdb,
    [
      '-D',
      join(draft, 'cluster'),
      '-U',
      maintenanceRole,
      `--pwfile=${join(draft, 'password')}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      '--no-instructions',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(durable ? [] : ['--no-sync']),
    ],
    { ...serverSpawn(account), stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const { ended, output } = await finished(tool).catch((cause) => {
    throw new OperatorFault(`Could not run ${binaries.initdb}: ${cause.message}`, { cause })
  })
  if (ended === null) return
  const userHasNoName = /could not look up effective user ID/.test(output)
  throw new OperatorFault(
    `Could not create the embedded database in ${layout.cluster} (DATA_DIR ${layout.dataDir}); ` +
      `initdb ended with ${ended}:\n${lastLines(output)}` +
      (userHasNoName ? '\nAdd this user id to /etc/passwd, or set DATABASE_URL.' : ''),
  )
}

/**
 * Runs statements, one per line, in single-user mode, which needs no password. No server may be running on the cluster.
 * Returns the output if a statement failed.
 */
export const runSingleUser = async (
  cluster: string,
  statements: string[],
  { binaries, account, durable = true }: Pick<ClusterOptions, 'binaries' | 'account'> & { durable?: boolean },
  name = 'postgres',
): Promise<string | null> => {
  const tool = spawn(binaries.postgres, ['--single', ...(durable ? [] : ['-F']), '-D', cluster, name], {
    ...serverSpawn(account),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  tool.stdin.on('error', () => undefined)
  tool.stdin.end(statements.map((statement) => `${statement}\n`).join(''))
  const { ended, output } = await finished(tool)
  return ended !== null || /ERROR|FATAL/.test(output) ? output : null
}

const makeRole = async (cluster: string, password: string, options: ClusterOptions): Promise<void> => {
  const statements = [roleDefinition(password), `create database ${database} owner ${role}`]
  const problem = await runSingleUser(cluster, statements, options)
  if (problem === null) return
  const { layout } = options
  throw new OperatorFault(
    `Could not create the role of the embedded database in ${layout.cluster} (DATA_DIR ${layout.dataDir}):\n` +
      lastLines(problem),
  )
}

/** Creates the cluster in a draft folder and renames it when complete, so that a cluster is never incomplete. */
export const makeCluster = async (options: ClusterOptions): Promise<void> => {
  const { home, cluster, passwordFile, maintenanceFile } = options.layout
  for (const name of await readdir(home)) {
    if (name.startsWith(draftPrefix)) await rm(join(home, name), { recursive: true, force: true, maxRetries: 5 })
  }
  // A new name each time, because the initdb of a killed service may still be writing to the old folder.
  const draft = join(home, `${draftPrefix}${randomBytes(4).toString('hex')}`)
  const [password, maintenancePassword] = [newPassword(), newPassword()]
  try {
    await mkdir(draft, { mode: 0o700 })
    await mkdir(join(draft, 'cluster'), { mode: 0o700 })
    await writeFile(join(draft, 'password'), maintenancePassword, { mode: 0o600 })
    if (options.account) {
      const { uid, gid } = options.account
      for (const path of ['', 'cluster', 'password']) await chown(join(draft, path), uid, gid)
    }
    await initdb(draft, options)
    await makeRole(join(draft, 'cluster'), password, options)
    await rename(join(draft, 'cluster'), cluster)
    if (options.durable) await sync(home)
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 })
  }
  await savePassword(maintenanceFile, maintenancePassword)
  await savePassword(passwordFile, password)
}

/** Written after the cluster is complete, because an existing password file means that a cluster was created. */
export const savePassword = async (file: string, password: string): Promise<void> => {
  const draft = `${file}.new`
  await rm(draft, { force: true })
  await writeFile(draft, `${password}\n`, { mode: 0o600, flag: 'wx' })
  await giveToFolderOwner(draft)
  await sync(draft)
  await rename(draft, file)
}

export const readPassword = async (file: string): Promise<string | null> =>
  (await readFile(file, 'utf8').catch(absentAsNull))?.trim() || null

/** No server may be running on the cluster. */
export const resetPassword = async (options: Omit<ClusterOptions, 'durable'>): Promise<string> => {
  const { layout } = options
  const password = newPassword()
  const problem = await runSingleUser(layout.cluster, [`ALTER ROLE ${role} PASSWORD '${password}'`], options)
  if (problem !== null) {
    throw new OperatorFault(
      `${layout.passwordFile} is missing and a new password could not be set:\n${lastLines(problem)}`,
    )
  }
  await savePassword(layout.passwordFile, password)
  return password
}

type ClusterState = 'absent' | 'complete'

/** Throws when the folder exists but is not a complete cluster of our version: the operator has to decide then. */
export const clusterState = async (layout: Layout, binaries: Binaries): Promise<ClusterState> => {
  const { cluster, dataDir, passwordFile } = layout
  const folder = await stat(cluster).catch(absentAsNull)
  if (folder === null) {
    if ((await readPassword(passwordFile)) === null) return 'absent'
    throw new OperatorFault(
      `DATA_DIR ${dataDir} had a database, but ${cluster} is gone. Restore it from a backup, ` +
        `or remove ${passwordFile} to start with an empty database.`,
    )
  }
  const major = (await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(absentAsNull))?.trim()
  if (major === undefined) {
    throw new OperatorFault(
      `${cluster} (in DATA_DIR ${dataDir}) is not a PostgreSQL cluster. Move it elsewhere, or set another DATA_DIR.`,
    )
  }
  const ours = binaries.version.split('.')[0]
  if (major === ours) return 'complete'
  throw new OperatorFault(
    `${cluster} (in DATA_DIR ${dataDir}) was created by PostgreSQL ${major}, but this release includes ${ours}. ` +
      'Make a backup with the release that created it, then restore the backup into a new DATA_DIR.',
  )
}

const systemIdentifierBytes = 8

/** Derived from path and system identifier, so that a copy of the cluster in another folder has a different mark. */
export const markOf = async (cluster: string): Promise<ClusterMark> => {
  const folder = await realpath(cluster)
  const control = await readFile(join(folder, 'global', 'pg_control'))
  const digest = createHash('sha256').update(folder).update(control.subarray(0, systemIdentifierBytes))
  return { folder, name: `tidings-${digest.digest('hex').slice(0, 16)}` }
}

type PidFile = { pid: number; port: number; status: string }

/** Reads the file that a running or killed server wrote. PostgreSQL defines the order of its lines. */
export const readPidFile = async (cluster: string): Promise<PidFile | null> => {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(absentAsNull)
  const lines = text?.split('\n') ?? []
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3] ?? 0), status: lines[7]?.trim() ?? '' } : null
}
