/** A PostgreSQL server of its own from the packages of the system, with the settings that it has by default. */
import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NothingToJudge } from './first-to-judge.ts'

const run = promisify(execFile)
const packages = '/usr/lib/postgresql'

export type Server = {
  url: string
  /** Runs later connections and this process before other programs of the machine, if the user may do that. */
  hurry(): Promise<void>
  stop(): Promise<void>
}

const hurriedPriority = -10

const freePort = async (): Promise<number> => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

const isRoot = process.getuid?.() === 0

/** PostgreSQL refuses to run as root. */
const asPostgres = (program: string, args: string[]) =>
  isRoot ? run('runuser', ['-u', 'postgres', '--', program, ...args]) : run(program, args)

const idOf = async (flag: '-u' | '-g'): Promise<number> => Number((await run('id', [flag, 'postgres'])).stdout)

/** The programs of the newest version. */
export const findPostgres = async (folder = packages): Promise<string> => {
  const versions = (await readdir(folder).catch(() => [])).filter((name) => /^\d+$/.test(name))
  const version = versions.toSorted((a, b) => Number(a) - Number(b)).at(-1)
  if (version) return join(folder, version, 'bin')
  throw new NothingToJudge(`there is no PostgreSQL in ${folder}. Install the package postgresql.`)
}

export const startServer = async (): Promise<Server> => {
  const bin = await findPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'tidings-locks-'))
  await chmod(folder, 0o755)
  if (isRoot) await chown(folder, await idOf('-u'), await idOf('-g'))
  const data = join(folder, 'data')
  const port = await freePort()
  await asPostgres(join(bin, 'initdb'), ['-D', data, '-U', 'tidings', '--auth=trust', '-E', 'UTF8', '--locale=C'])
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_wal_size=4GB`
  await asPostgres(join(bin, 'pg_ctl'), ['-D', data, '-l', join(folder, 'log'), '-w', '-o', settings, 'start'])
  return {
    url: `postgres://tidings@127.0.0.1:${port}/postgres`,
    hurry: async () => {
      const postmaster = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0])
      try {
        for (const pid of [postmaster, process.pid]) setPriority(pid, hurriedPriority)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error
      }
    },
    stop: async () => {
      await asPostgres(join(bin, 'pg_ctl'), ['-D', data, '-m', 'immediate', 'stop'])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
