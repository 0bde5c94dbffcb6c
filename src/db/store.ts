import { statement } from './statement.ts'

/** Creates the partition of a month. If the default partition already has rows of that month, it keeps them. */
export const ensureMonth = statement<{ parent: string; month: string }, unknown>(
  'db.ensure_month',
  'select ensure_month(:parent, :month::date)',
)

/** The connections that listen with that presence, in all processes. */
export const findListeners = statement<{ presence: number }, { pid: number }>(
  'db.find_listeners',
  `select l.pid
   from pg_locks l
   join pg_database d on d.oid = l.database
   where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = :presence::int::oid and l.granted
     and d.datname = current_database()`,
)

export const notifyListeners = statement<{ channel: string; payload: string }, { sent: string }>(
  'db.notify',
  'select pg_notify(:channel, :payload)::text as sent',
)
