/**
 * The database handle for requests that only read. Inside such a request its statements run on the replica, if the
 * replica has the last write of the caller. Everywhere else, and in transactions, they run on the primary.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { lostConnection, sqlState } from '../db/faults.ts'
import type { Db, Runner } from '../db/pool.ts'
import type { ReplicaWatch } from './watch-replica.ts'
import type { WriteMarks } from './write-marks.ts'

export interface Reads {
  db: Db
  /** Connections for one long snapshot, such as an export. */
  snapshots: Pick<Db, 'connect'>
  /** Runs the handler of a request that only reads. `subjects` are the org and the user whose writes it must see. */
  serve<T>(subjects: readonly string[], work: () => Promise<T>): Promise<T>
  /** Called when a request that may have written has ended. Undefined without a replica. */
  wrote?: (subjects: readonly string[]) => void | Promise<void>
}

/** Every read runs on the primary. */
export const readsFromPrimary = (db: Db): Reads => ({ db, snapshots: db, serve: (_subjects, work) => work() })

class ReplicaLostFault extends Error {}

/**
 * Whether the primary may answer what the replica did not: the connection failed, the replay canceled the statement, or
 * the server cannot run it as a replica. A statement that took too long would take as long on the primary.
 */
export const isReplicaFault = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state === undefined) return error instanceof ReplicaLostFault || lostConnection(error)
  return /^(08|40|53|57P|58|XX)/.test(state) || state === '25006' || state === '55000'
}

/** Faults of a single statement say nothing about the replica. */
const isFaultOfServer = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return /^(08|57P)/.test(state)
  // All connections are busy, or the server cannot be reached. The watch knows which.
  const waited = error instanceof Error && error.message.startsWith('timeout exceeded when trying to connect')
  return !waited && !(error instanceof ReplicaLostFault)
}

type ReadRunner = Pick<Runner, 'rows' | 'row'>

/** How long an export waits for the replica before it reads from the primary. */
const snapshotWaitMs = 5_000

type Needs = {
  primary: Db
  replica: ReadRunner & Pick<Db, 'connect'>
  watch: ReplicaWatch
  marks: WriteMarks
  /** Called for each request and each export. */
  countRead?: (target: 'replica' | 'primary') => void
  /** Called for each statement that the primary repeats. */
  countRepeated?: () => void
  now?: () => number
}

export const makeReads = (needs: Needs): Reads => {
  const { primary, replica, watch, marks, countRead, countRepeated, now = () => performance.now() } = needs
  const current = new AsyncLocalStorage<{ replica: boolean }>()

  /** A replica that hangs answers nothing, but the watch notices. */
  const unlessLost = async <T>(query: () => Promise<T>): Promise<T> => {
    const lost = Promise.withResolvers<never>()
    const release = watch.onLost(() => lost.reject(new ReplicaLostFault('the replica stopped to answer')))
    const answer = query()
    // When the replica is lost first, nobody waits for its answer.
    answer.catch(() => undefined)
    return Promise.race([answer, lost.promise]).finally(release)
  }

  const onReplica = async <T>(scope: { replica: boolean }, read: (runner: ReadRunner) => Promise<T>): Promise<T> => {
    try {
      return await unlessLost(() => read(replica))
    } catch (error) {
      if (!isReplicaFault(error)) throw error
      // The rest of the request reads from the primary too, and not from an earlier state.
      scope.replica = false
      countRepeated?.()
      if (isFaultOfServer(error)) watch.failed(error)
      return read(primary)
    }
  }

  const run = <T>(read: (runner: ReadRunner) => Promise<T>): Promise<T> => {
    const scope = current.getStore()
    return scope?.replica ? onReplica(scope, read) : read(primary)
  }

  /** The age of a mark is at most its real one when it arrives, so the write was not later than this moment. */
  const mayReadReplica = async (subjects: readonly string[]): Promise<boolean> => {
    if (!watch.isUsable()) return false
    const age = await marks.age(subjects)
    return age !== null && watch.hasReplayed(now() - age)
  }

  const connect: Db['connect'] = async () => {
    if (watch.isUsable() && watch.keepsSnapshots() && (await watch.reaches(snapshotWaitMs))) {
      try {
        const client = await replica.connect()
        countRead?.('replica')
        return client
      } catch (error) {
        watch.failed(error)
      }
    }
    countRead?.('primary')
    return primary.connect()
  }

  return {
    db: {
      ...primary,
      rows: (statement, ...params) => run((runner) => runner.rows(statement, ...params)),
      row: (statement, ...params) => run((runner) => runner.row(statement, ...params)),
    },
    snapshots: { connect },
    serve: async (subjects, work) => {
      const fromReplica = await mayReadReplica(subjects)
      countRead?.(fromReplica ? 'replica' : 'primary')
      return fromReplica ? current.run({ replica: true }, work) : work()
    },
    wrote: marks.wrote,
  }
}
