/** A PostgreSQL server with a streaming replica, from the programs that the system has installed. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'

const exec = promisify(execFile)
const host = '127.0.0.1'
const installed = '/usr/lib/postgresql'

/** The folder of the newest programs, or undefined if the system has none. */
export const findPrograms = (): string | undefined => {
  const versions = existsSync(installed) ? readdirSync(installed).map(Number) : []
  const folders = versions.sort((a, b) => b - a).map((version) => join(installed, String(version), 'bin'))
  return folders.find((folder) => existsSync(join(folder, 'pg_basebackup')) && existsSync(join(folder, 'initdb')))
}

/** PostgreSQL refuses to run as root. Debian's packages create an account for it, which owns this folder. */
const account = (): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const { uid, gid } = statSync('/var/lib/postgresql')
  return { uid, gid }
}

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((closed) => probe.close(closed))
  return port
}

export type RunningServer = {
  /** The database `tidings` for its owner, who has no other rights. */
  url: string
  /** Runs SQL in that database as superuser. */
  sql<R = Record<string, unknown>>(text: string, params?: unknown[]): Promise<R[]>
  start(): Promise<void>
  kill(): Promise<void>
}

type Folder = { programs: string; data: string; port: number }

const serverIn = ({ programs, data, port }: Folder): RunningServer => {
  let child: ChildProcess | undefined
  const urlFor = (user: string, database: string): string => `postgres://${user}@${host}:${port}/${database}`
  const connectTo = async (database: string): Promise<pg.Client> => {
    const client = new pg.Client(urlFor('postgres', database))
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const answers = (): Promise<boolean> =>
    connectTo('postgres').then(
      (client) => client.end().then(() => true),
      () => false,
    )
  return {
    url: urlFor('tidings', 'tidings'),
    sql: async <R>(text: string, params?: unknown[]) => {
      const client = await connectTo('tidings')
      return (await client.query(text, params).finally(() => client.end())).rows as R[]
    },
    start: async () => {
      const settings = { listen_addresses: host, port, unix_socket_directories: data, fsync: 'off' }
      const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      child = spawn(join(programs, 'postgres'), ['-D', data, ...args], { ...account(), stdio: 'ignore' })
      for (let tries = 0; !(await answers()); tries++) {
        if (child.exitCode !== null || tries > 600) throw new Error(`PostgreSQL in ${data} did not start`)
        await sleep(50)
      }
    },
    kill: async () => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      // Ends all of its processes at once, like a crash.
      child.kill('SIGQUIT')
      await ended
    },
  }
}

export type ReplicatedServer = { primary: RunningServer; replica: RunningServer; stop(): Promise<void> }

export const startReplicatedServer = async (programs: string): Promise<ReplicatedServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-replica-'))
  await chmod(folder, 0o755)
  const { uid, gid } = account()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
  const run = (program: string, args: string[]) => exec(join(programs, program), args, { ...account(), cwd: folder })
  const places = {
    primary: { programs, data: join(folder, 'primary'), port: await freePort() },
    replica: { programs, data: join(folder, 'replica'), port: await freePort() },
  }
  await run('initdb', ['-D', places.primary.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'])
  const primary = serverIn(places.primary)
  const replica = serverIn(places.replica)
  await primary.start()
  const client = new pg.Client(`postgres://postgres@${host}:${places.primary.port}/postgres`)
  await client.connect()
  await client.query('create role tidings login')
  await client.query('create database tidings owner tidings')
  await client.end()
  const from = ['-h', host, '-p', String(places.primary.port), '-U', 'postgres']
  await run('pg_basebackup', ['-D', places.replica.data, ...from, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
  await replica.start()
  return {
    primary,
    replica,
    stop: async () => {
      await replica.kill()
      await primary.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
