/** Reads from a replica: its connections, its watch, and the marks of writes. */
import { randomBytes } from 'node:crypto'
import type { Metrics } from '../../interfaces/http/metrics.ts'
import { type Db, openDb } from '../../platform/db/pool.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Peers } from '../../platform/processes/peers.ts'
import { makeReads, type Reads, readsFromPrimary } from '../../platform/replica/reads.ts'
import { watchNameOf, watchReplica } from '../../platform/replica/watch-replica.ts'
import { makeMemoryMarks, type WriteMarks } from '../../platform/replica/write-marks.ts'

type Needs = {
  config: Config
  url: string
  db: Db
  log: Log
  metrics: Metrics
  peers: Peers | undefined
}

const watchMs = 2_000

const openMarks = async (config: Config, log: Log, peers: Peers | undefined): Promise<WriteMarks> => {
  const { redisUrl: url, redisPrefix: prefix } = config
  if (url === undefined) return peers?.marks ?? makeMemoryMarks()
  const { makeRedisMarks } = await import('../../platform/replica/redis-marks.ts')
  return makeRedisMarks({ url, log, prefix })
}

/** Without a replica the metrics exist too, so that dashboards and alerts find them. */
const measureReads = (metrics: Metrics, lagSeconds: () => number) => {
  metrics.gauge('database_replica_lag_seconds', 'How far the replica is behind the primary', lagSeconds)
  const reads = metrics.counters('database_reads_total', {
    help: 'Requests that only read and exports, by the server that they read from',
    labels: ['target'],
  })
  const repeated = metrics.counter(
    'database_replica_faults_total',
    'Statements that failed on the replica and were repeated on the primary',
  )
  return {
    countRead: (target: 'replica' | 'primary'): void => reads.add({ target }),
    countRepeated: (): void => repeated.add(),
  }
}

export const openReads = async ({
  config,
  url,
  db,
  log,
  metrics,
  peers,
}: Needs): Promise<{ reads: Reads; close(): Promise<void> }> => {
  const { databaseReadUrl: readUrl, databasePoolSize: poolSize, databaseReadMaxLagMs: maxLagMs, redisUrl } = config
  if (readUrl === undefined) {
    measureReads(metrics, () => 0)
    return { reads: readsFromPrimary(db), close: async () => undefined }
  }
  const group = peers?.group ?? randomBytes(6).toString('hex')
  // The watch says when the replica is lost, once for all connections.
  const quiet = { warn: log.debug.bind(log) }
  // Connections of its own, because a busy pool would look like a replica that does not answer.
  const watched = { log: quiet, poolSize: 1, name: watchNameOf(group), replyTimeoutMs: watchMs }
  const watchedPrimary = openDb({ ...watched, url })
  const watchedReplica = openDb({ ...watched, url: readUrl })
  const replica = openDb({ url: readUrl, log: quiet, poolSize, name: 'tidings reads' })
  const marks = await openMarks(config, log, peers)
  const watch = watchReplica({
    primary: watchedPrimary,
    replica: watchedReplica,
    log,
    maxLagMs,
    group: redisUrl === undefined ? group : null,
  })
  const { countRead, countRepeated } = measureReads(metrics, watch.lagSeconds)
  watch.start()
  return {
    reads: makeReads({ primary: db, replica, watch, marks, countRead, countRepeated }),
    close: async () => {
      await watch.stop()
      await marks.close()
      await Promise.all([watchedPrimary.close(), watchedReplica.close(), replica.close()])
    },
  }
}
