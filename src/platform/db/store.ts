import { statement } from './statement.ts'

/** Months of which a table has no partition. The place counts from 1. */
export const missingMonths = statement<{ parents: string[]; suffixes: string[] }, { parent: string; place: number }>(
  'db.missing_months',
  `select p.parent, m.place::int as place
   from unnest(:suffixes::text[]) with ordinality as m (suffix, place)
   cross join unnest(:parents::text[]) with ordinality as p (parent, turn)
   where to_regclass(p.parent || '_' || m.suffix) is null
   order by m.place, p.turn`,
)

/** The partitions of a table, the default partition included, oldest first. */
export const monthPartitions = statement<{ parent: string }, { name: string }>(
  'db.month_partitions',
  `select c.relname as name
   from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = to_regclass(:parent)
   order by c.relname`,
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
