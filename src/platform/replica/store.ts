import { type NoParams, statement } from '../db/statement.ts'

export type PrimaryPosition = { position: number; timeline: number; cluster: string; database: string; others: number }

/**
 * A position that contains every commit which was acknowledged before the question. With asynchronous commits that is
 * where the log is inserted, not how far it is written. `others` counts the watches of other groups of processes.
 */
export const primaryPosition = statement<{ own: string; pattern: string }, PrimaryPosition>(
  'replica.primary_position',
  `select pg_wal_lsn_diff(log.lsn, '0/0')::bigint as position,
     ('x' || substr(pg_walfile_name(log.lsn), 1, 8))::bit(32)::int as timeline,
     (select system_identifier::text from pg_control_system()) as cluster,
     current_database() as database,
     (select count(*)::int from pg_stat_activity
      where datname = current_database() and application_name like :pattern and application_name <> :own) as others
   from (select case current_setting('synchronous_commit')
     when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_lsn() end as lsn) as log`,
)

export type ReplicaPosition = {
  recovering: boolean
  /** Null if the server replays no log. */
  position: number | null
  timeline: number
  cluster: string
  database: string
  /** Whether the primary keeps rows that a long statement on the replica still needs. */
  feedback: boolean
}

/** The timeline is known from the last flush of the replica, so it may be behind but never ahead. */
export const replicaPosition = statement<NoParams, ReplicaPosition>(
  'replica.replica_position',
  `select pg_is_in_recovery() as recovering,
     pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint as position,
     greatest((select timeline_id from pg_control_checkpoint()),
       (select min_recovery_end_timeline from pg_control_recovery())) as timeline,
     (select system_identifier::text from pg_control_system()) as cluster,
     current_database() as database,
     current_setting('hot_standby_feedback') = 'on' as feedback`,
)
