/** The workers of the service, which link audit entries and do the other work in the background: one for each database. */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Tree } from './tree.ts'

export type Workers = {
  /** Migrates an empty database as a deployment does, with its first months, and starts its worker, unless it runs. */
  start(tree: Tree, databaseUrl: string): Promise<void>
  /**
   * Waits until every audit entry is linked, so that the work of one turn does not slow the next one. Returns whether
   * that happened in time.
   */
  untilDone(): Promise<boolean>
  stop(): Promise<void>
}

const doneWithinMs = 60_000
const askEveryMs = 50
const endWithinMs = 10_000

type Worker = { child: ChildProcess; client: pg.Client }

const stopWorker = async ({ child, client }: Worker): Promise<void> => {
  await client.end()
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  const last = setTimeout(() => child.kill('SIGKILL'), endWithinMs)
  if (child.connected) child.disconnect()
  await exited
  clearTimeout(last)
}

/** Every commit has this table: the entries that wait for the worker. */
const isDone = async ({ client }: Worker): Promise<boolean> => {
  const { rows } = await client.query('select from audit_unlinked limit 1')
  return rows.length === 0
}

export const makeWorkers = (folder: string): Workers => {
  const workers = new Map<string, Worker>()

  const launch = ({ folder: sources, serviceFlags }: Tree, databaseUrl: string, command: string): ChildProcess =>
    fork(join(sources, 'src', 'main.ts'), [command], {
      cwd: folder,
      execPath: process.execPath,
      execArgv: serviceFlags,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        LOG_LEVEL: 'warn',
        DATABASE_URL: databaseUrl,
        DATA_DIR: join(folder, 'worker'),
        // Not the key of the API: the worker decrypts nothing that a bench has made.
        MASTER_KEY: randomBytes(32).toString('base64'),
        AUDIT_SIGNING_SECRET: 'bench',
      },
      // In a group of its own, so that Ctrl-C does not stop it. It stops when the channel closes.
      detached: true,
      stdio: ['ignore', 'ignore', 2, 'ipc'],
    })

  return {
    async start(tree, databaseUrl) {
      if (workers.has(databaseUrl)) return
      const [code, by] = await once(launch(tree, databaseUrl, 'migrate'), 'exit')
      if (code !== 0) throw new Error(`the migrations of ${tree.name} ended with ${code ?? by}`)
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      workers.set(databaseUrl, { child: launch(tree, databaseUrl, 'worker'), client })
    },
    async untilDone() {
      const end = performance.now() + doneWithinMs
      for (const worker of workers.values()) {
        for (;;) {
          const code = worker.child.exitCode ?? worker.child.signalCode
          if (code !== null) throw new Error(`a worker exited with ${code}`)
          if (await isDone(worker)) break
          if (performance.now() > end) return false
          await pause(askEveryMs)
        }
      }
      return true
    },
    async stop() {
      await Promise.all([...workers.values()].map(stopWorker))
      workers.clear()
    },
  }
}
