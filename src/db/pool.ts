import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import type { Log } from '../ground/log.ts'
import { type ParamsOf, queryOf, type Statement } from './statement.ts'

export interface Runner {
  rows<P extends object, R>(statement: Statement<P, R>, ...params: ParamsOf<P>): Promise<R[]>
  /** The first row, if any. */
  row<P extends object, R>(statement: Statement<P, R>, ...params: ParamsOf<P>): Promise<R | undefined>
  /** How many rows the statement changed. */
  change<P extends object>(statement: Statement<P, never>, ...params: ParamsOf<P>): Promise<number>
}

export interface Tx extends Runner {
  /** What fails inside is undone alone, and the transaction goes on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
}

export interface Db extends Runner {
  /** A short, explicit transaction. No network call may happen inside: see assertNotInTransaction. */
  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** A connection of one's own, for COPY and LISTEN. The caller ends it. */
  connect(): Promise<pg.Client>
  close(): Promise<void>
}

type Scope = { open: boolean }

const openTransaction = new AsyncLocalStorage<Scope>()

/** Whether the caller, or whoever awaits it, holds a transaction open. */
export const inTransaction = (): boolean => openTransaction.getStore()?.open === true

/** Called by everything that talks to the network: a remote party must never hold our row locks. */
export const assertNotInTransaction = (what: string): void => {
  if (inTransaction()) throw new Error(`${what} inside a database transaction`)
}

// Counters and sums stay exact up to 2^53; text would make every reader convert.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8 && format !== 'binary') return (text: string) => exactInteger(text)
    return pg.types.getTypeParser(oid, format)
  }) as pg.CustomTypesConfig['getTypeParser'],
}

const exactInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database holds ${text}, which is not exact here`)
  return value
}

export type DbOptions = {
  url: string
  log: Log
  poolSize?: number
  /** Shown in pg_stat_activity. */
  name?: string
}

const clientOptions = ({ url, name }: DbOptions): pg.ClientConfig => ({
  connectionString: url,
  application_name: name ?? 'tidings',
  connectionTimeoutMillis: 5_000,
  // Ends a statement that lost its way before the caller's own limits do.
  statement_timeout: 60_000,
  idle_in_transaction_session_timeout: 60_000,
  keepAlive: true,
  types,
})

const runnerOn = (query: (config: pg.QueryConfig) => Promise<pg.QueryResult>): Runner => ({
  rows: async (statement, ...[params]) => (await query(queryOf(statement, params))).rows,
  row: async (statement, ...[params]) => (await query(queryOf(statement, params))).rows[0],
  change: async (statement, ...[params]) => (await query(queryOf(statement, params))).rowCount ?? 0,
})

const transactionOn = (client: pg.PoolClient, scope: Scope): Tx => {
  let savepoints = 0
  const query = async (config: pg.QueryConfig): Promise<pg.QueryResult> => {
    // By then the connection may carry somebody else's transaction.
    if (!scope.open) throw new Error(`${config.name ?? config.text} came after its transaction had ended`)
    return client.query(config)
  }
  return {
    ...runnerOn(query),
    savepoint: async (work) => {
      const name = `s${++savepoints}`
      await query({ text: `savepoint ${name}` })
      try {
        const result = await work()
        await query({ text: `release savepoint ${name}` })
        return result
      } catch (error) {
        // Where this fails too the connection is gone, and the first fault says more about why.
        await query({ text: `rollback to savepoint ${name}` }).catch(() => undefined)
        throw error
      }
    },
  }
}

export const openDb = (options: DbOptions): Db => {
  const pool = new pg.Pool({
    ...clientOptions(options),
    max: options.poolSize ?? 10,
    idleTimeoutMillis: 30_000,
  })
  // An idle connection that the server ended; the next query opens another.
  pool.on('error', ({ message }) => options.log.warn({ reason: message }, 'an idle database connection was lost'))

  return {
    ...runnerOn((config) => {
      // A statement beside an open transaction would not see its writes and could wait for its locks for ever.
      assertNotInTransaction('a statement on another connection')
      return pool.query(config)
    }),

    tx: async (work) => {
      assertNotInTransaction('a second transaction')
      const client = await pool.connect()
      const scope: Scope = { open: true }
      let broken: Error | undefined
      // The pool listens only to idle connections: one lost between two statements would end the process.
      const onLost = (error: Error) => {
        broken = error
      }
      client.on('error', onLost)
      try {
        await client.query('begin')
        const result = await openTransaction
          .run(scope, async () => work(transactionOn(client, scope)))
          // Work started inside that outlives the transaction is free to use the network again.
          .finally(() => {
            scope.open = false
          })
        const { command } = await client.query('commit')
        // What the server answers when a statement failed and the work went on as if it had not.
        if (command === 'ROLLBACK') throw new Error('the transaction had failed and was undone at its end')
        return result
      } catch (error) {
        await client.query('rollback').catch((fault: Error) => {
          broken = fault
        })
        throw error
      } finally {
        client.off('error', onLost)
        client.release(broken)
      }
    },

    connect: async () => {
      assertNotInTransaction('a connection of its own')
      const client = new pg.Client(clientOptions(options))
      // The next statement tells of a lost connection; without a listener it would end the process.
      client.on('error', () => undefined)
      await client.connect()
      return client
    },

    close: () => pool.end(),
  }
}
