import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { markChanged } from '../ground/request-context.ts'
import { lostConnection, markUnsent, mayHaveTakenEffect, RolledBackFault } from './faults.ts'
import { type ParamsOf, queryOf, type Statement } from './statement.ts'

export interface Runner {
  rows<P extends object, R>(statement: Statement<P, R>, ...params: ParamsOf<P>): Promise<R[]>
  /** The first row, if any. */
  row<P extends object, R>(statement: Statement<P, R>, ...params: ParamsOf<P>): Promise<R | undefined>
  /** How many rows the statement changed. */
  change<P extends object>(statement: Statement<P, never>, ...params: ParamsOf<P>): Promise<number>
}

export interface Tx extends Runner {
  /** Rolls back only its own work when it fails, so that the transaction can continue. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
  /** Runs `work` after the commit. It does not run if the transaction, or the savepoint around the call, is rolled back. */
  afterCommit(work: () => void): void
}

export interface Db extends Runner {
  /** A short, explicit transaction. Network calls are forbidden inside: see assertNotInTransaction. */
  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** A separate connection, for COPY and LISTEN. The caller ends it. */
  connect(): Promise<pg.Client>
  pool(): PoolState
  close(): Promise<void>
}

/** What an action needs that reads or changes rows. */
export type StoreNeeds = { db: Db; clock: Clock }

/** `changes` is set once a statement has run that may change something a caller can see. */
type TransactionScope = { open: boolean; changes: boolean }

const openTransaction = new AsyncLocalStorage<TransactionScope>()

/** Whether the current call runs inside an open transaction. */
export const inTransaction = (): boolean => openTransaction.getStore()?.open === true

/** Called before every network call, because a slow remote server must not hold our row locks. */
export const assertNotInTransaction = (what: string): void => {
  if (inTransaction()) throw new Error(`${what} inside a database transaction`)
}

// Reads bigint as number, which is exact up to 2^53. As text, every caller would have to convert it.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 && format !== 'binary') return (text: string) => exactInteger(text)
    return pg.types.getTypeParser(oid, format)
  }) as pg.CustomTypesConfig['getTypeParser'],
}

const exactInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the bigint ${text} from the database is not a safe integer`)
  return value
}

/** The connections of the pool now. */
type PoolState = { busy: number; idle: number; waiting: number }

/** Measures waits, and marks errors of connections that were never there. */
class MeasuredPool extends pg.Pool {
  waited: ((seconds: number) => void) | undefined

  /** Calls that find a free connection, or that may open one, do not wait and are not measured. */
  private measure(): (() => void) | undefined {
    // Idle connections go to the calls that wait already, in the next turn.
    const noneFree = this.waitingCount >= this.idleCount && this.totalCount >= this.options.max
    if (this.waited === undefined || !noneFree) return undefined
    const startedAt = performance.now()
    return () => this.waited?.((performance.now() - startedAt) / 1_000)
  }

  override connect(): Promise<pg.PoolClient>
  override connect(done: (error: Error | undefined, client: pg.PoolClient | undefined, release: never) => void): void
  // biome-ignore lint/suspicious/noExplicitAny: the two signatures of the pool
  override connect(done?: any): any {
    const measured = this.measure()
    if (done === undefined) {
      const connected = super.connect().catch((error) => {
        markUnsent(error)
        throw error
      })
      return measured ? connected.finally(measured) : connected
    }
    return super.connect((error, client, release) => {
      measured?.()
      if (error) markUnsent(error)
      done(error, client, release)
    })
  }
}

type DbOptions = {
  url: string
  log: Pick<Log, 'warn'>
  poolSize?: number
  /** Shown in pg_stat_activity. */
  name?: string
  /** Called with the seconds that a call waited for a free connection. */
  poolWaited?: (seconds: number) => void
  /** How long a call waits for a connection. */
  connectTimeoutMs?: number
  /** A connection whose server does not reply to a statement for this long is replaced. */
  replyTimeoutMs?: number
  /** Called with the error of every statement and transaction that failed. */
  failed?: (error: unknown) => void
}

const statementTimeoutMs = 60_000

const clientOptions = ({ url, name, connectTimeoutMs = 5_000 }: DbOptions): pg.ClientConfig => ({
  connectionString: url,
  application_name: name ?? 'tidings',
  connectionTimeoutMillis: connectTimeoutMs,
  // Cancels a runaway statement before the caller's own timeouts.
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: 60_000,
  keepAlive: true,
  // Notices within 20 seconds that the machine of an idle connection is gone. The default of Linux is two hours.
  keepAliveInitialDelayMillis: 10_000,
  types,
})

type AnyStatement = Pick<Statement<object, unknown>, 'changes'>
type Query = (config: pg.QueryConfig, statement: AnyStatement) => Promise<pg.QueryResult>

const runnerOn = (query: Query): Runner => ({
  rows: async (statement, ...[params]) => (await query(queryOf(statement, params), statement)).rows,
  row: async (statement, ...[params]) => (await query(queryOf(statement, params), statement)).rows[0],
  change: async (statement, ...[params]) => (await query(queryOf(statement, params), statement)).rowCount ?? 0,
})

const transactionOn = (client: pg.PoolClient, scope: TransactionScope, committed: (() => void)[]): Tx => {
  let savepoints = 0
  const query = async (config: pg.QueryConfig, statement?: AnyStatement): Promise<pg.QueryResult> => {
    // The connection may already belong to another transaction.
    if (!scope.open) throw new Error(`${config.name ?? config.text} was called after its transaction ended`)
    if (statement?.changes) scope.changes = true
    return client.query(config)
  }
  return {
    ...runnerOn(query),
    savepoint: async (work) => {
      const name = `s${++savepoints}`
      const before = committed.length
      await query({ text: `savepoint ${name}` })
      try {
        const result = await work()
        await query({ text: `release savepoint ${name}` })
        return result
      } catch (error) {
        committed.length = before
        // If the rollback fails too, the connection is lost, and the first error says more about the cause.
        await query({ text: `rollback to savepoint ${name}` }).catch(() => undefined)
        throw error
      }
    },
    afterCommit: (work) => {
      committed.push(work)
    },
  }
}

export const openDb = (options: DbOptions): Db => {
  const pool = new MeasuredPool({
    ...clientOptions(options),
    // Longer than the server's own limit: it is reached only when the server or the network is gone.
    query_timeout: options.replyTimeoutMs ?? statementTimeoutMs + 5_000,
    max: options.poolSize ?? 10,
    idleTimeoutMillis: 30_000,
  })
  pool.waited = options.poolWaited
  // A server that shuts down can end a connection in the same packet with which it accepts it, before anyone listens.
  // The error then fails the first statement. Without this listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  // The server ended an idle connection. The next query opens a new one. A pool that closes loses none.
  pool.on('error', ({ message }) => {
    if (!pool.ending) options.log.warn({ reason: message }, 'idle database connection lost')
  })

  /** Runs the last step of a change, after which it has taken effect: a statement of its own, or COMMIT. */
  const lastStep = async <T>(changes: boolean, step: () => Promise<T>): Promise<T> => {
    try {
      const result = await step()
      if (changes) markChanged()
      return result
    } catch (error) {
      if (changes && mayHaveTakenEffect(error)) markChanged()
      throw error
    }
  }

  return {
    ...runnerOn(async (config, { changes }) => {
      // A statement outside the open transaction would not see its writes, and could wait for its locks forever.
      assertNotInTransaction('a statement on another connection')
      try {
        return await lastStep(changes, () => pool.query(config))
      } catch (error) {
        options.failed?.(error)
        throw error
      }
    }),

    tx: async (work) => {
      assertNotInTransaction('a second transaction')
      const client = await pool.connect()
      const scope: TransactionScope = { open: true, changes: false }
      const committed: (() => void)[] = []
      let broken: Error | undefined
      // The pool handles errors of idle connections only. Without this listener, a connection that is lost between two
      // statements would end the process.
      const onLost = (error: Error) => {
        broken = error
      }
      client.on('error', onLost)
      try {
        await client.query('begin')
        const result = await openTransaction
          .run(scope, async () => work(transactionOn(client, scope, committed)))
          // Work that outlives the transaction may use the network again.
          .finally(() => {
            scope.open = false
          })
        await lastStep(scope.changes, async () => {
          const { command } = await client.query('commit')
          // The server answers COMMIT with ROLLBACK when a statement failed and the work ignored the error.
          if (command === 'ROLLBACK') throw new RolledBackFault()
        })
        for (const notify of committed) notify()
        return result
      } catch (error) {
        options.failed?.(error)
        // A server that is gone or read-only stays so: the pool must not use this connection again.
        if (lostConnection(error)) broken = error as Error
        else {
          await client.query('rollback').catch((rollbackError: Error) => {
            broken = rollbackError
          })
        }
        throw error
      } finally {
        client.off('error', onLost)
        client.release(broken)
      }
    },

    connect: async () => {
      assertNotInTransaction('a separate connection')
      const client = new pg.Client(clientOptions(options))
      // A lost connection fails the next statement. Without this listener it would end the process.
      client.on('error', () => undefined)
      await client.connect().catch((error) => {
        markUnsent(error)
        throw error
      })
      return client
    },

    pool: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),

    close: () => pool.end(),
  }
}
