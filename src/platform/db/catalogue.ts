/** Reads the schema from the system catalogue of PostgreSQL, so that tables added later are included. */
import pg from 'pg'

export type Table = {
  name: string
  partitioned: boolean
  /** Without generated columns. */
  columns: string[]
}

export type Partition = {
  name: string
  parent: string
  /** Such as `FOR VALUES FROM (…) TO (…)`. */
  bound: string
  /** Set when the partition is itself partitioned, such as `RANGE (created_at)`. */
  by: string | null
}

export type Sequence = { name: string; last: string; called: boolean }

/** The table of applied migrations describes the schema. It is not part of the stored data. */
const historyTable = 'schema_migrations'

export const quoted = (name: string): string => `public.${pg.escapeIdentifier(name)}`

const notInExtension = (catalogue: string, oid: string): string =>
  `not exists (select from pg_depend d
     where d.classid = '${catalogue}'::regclass and d.objid = ${oid} and d.deptype = 'e')`

/** Every table. Partitions are part of their parents. */
export const tablesIn = async (client: pg.ClientBase): Promise<Table[]> => {
  const { rows } = await client.query<Table>(
    `select c.relname as name, c.relkind = 'p' as partitioned,
       array(select a.attname::text from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         order by a.attnum) as columns
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> $1 and ${notInExtension('pg_class', 'c.oid')}
     order by c.relname collate "C"`,
    [historyTable],
  )
  return rows
}

export const hasHistory = async (client: pg.ClientBase): Promise<boolean> => {
  const { rows } = await client.query('select to_regclass($1) is not null as found', [quoted(historyTable)])
  return rows[0].found
}

/** Parents before their partitions. */
export const partitionsIn = async (client: pg.ClientBase): Promise<Partition[]> => {
  const { rows } = await client.query<Partition>(
    `with recursive below as (
       select c.oid, 0 as depth from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'p' and not c.relispartition
       union all
       select i.inhrelid, b.depth + 1 from below b join pg_inherits i on i.inhparent = b.oid
     )
     select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound,
       case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end as by
     from below b
     join pg_class c on c.oid = b.oid
     join pg_inherits i on i.inhrelid = c.oid
     join pg_class p on p.oid = i.inhparent
     where b.depth > 0
     order by b.depth, c.relname collate "C"`,
  )
  return rows
}

export const sequencesIn = async (client: pg.ClientBase): Promise<Sequence[]> => {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
       and ${notInExtension('pg_class', 'c.oid')}
     order by c.relname collate "C"`,
  )
  const found: Sequence[] = []
  for (const { name } of rows) {
    const { rows: state } = await client.query<Omit<Sequence, 'name'>>(
      `select last_value::text as last, is_called as called from ${quoted(name)}`,
    )
    found.push({ name, ...state[0]! })
  }
  return found
}

/** Two statements that undo each other. The first runs before a load of data, the second after it. */
export type Pair = { before: string; after: string }

/** Foreign keys. Those of partitions are dropped and added with their parents'. */
export const foreignKeysIn = async (client: pg.ClientBase): Promise<Pair[]> => {
  const { rows } = await client.query<Pair>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as before,
       format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as after
     from pg_constraint
     where connamespace = 'public'::regnamespace and contype = 'f' and conparentid = 0
     order by conrelid::regclass::text, conname`,
  )
  return rows
}

/**
 * Indexes, including those of primary keys and unique constraints. Building an index over all rows takes a fraction of
 * the time that adding rows one by one does. Excludes indexes that their definition does not restore completely (those
 * with options, a tablespace, a comment or a role in replication) and indexes that a view depends on.
 */
export const indexesIn = async (client: pg.ClientBase): Promise<Pair[]> => {
  const { rows } = await client.query<Pair>(
    `select
       case when k.oid is null then format('drop index %s', i.indexrelid::regclass)
         else format('alter table %s drop constraint %I', i.indrelid::regclass, k.conname) end as before,
       -- The definition of a partitioned table's index excludes its partitions; without ONLY it includes them.
       case when k.oid is null then regexp_replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
         else format('alter table %s add constraint %I %s', i.indrelid::regclass, k.conname,
           pg_get_constraintdef(k.oid)) end as after
     from pg_index i
     join pg_class c on c.oid = i.indexrelid
     left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')
     where c.relnamespace = 'public'::regnamespace and not c.relispartition
       and i.indisvalid and not i.indisclustered and not i.indisreplident
       and c.reloptions is null and c.reltablespace = 0
       and obj_description(c.oid, 'pg_class') is null and obj_description(k.oid, 'pg_constraint') is null
       and not exists (select from pg_depend d where d.classid = 'pg_rewrite'::regclass
         and d.refclassid = 'pg_constraint'::regclass and d.refobjid = k.oid)
       and i.indrelid <> $1::regclass
     order by i.indrelid::regclass::text, k.contype, c.relname`,
    [quoted(historyTable)],
  )
  return rows
}

/** Enabled triggers. The second statement restores the mode in which each was enabled. */
export const triggersIn = async (client: pg.ClientBase): Promise<Pair[]> => {
  const { rows } = await client.query<Pair>(
    `select format('alter table %s disable trigger %I', t.tgrelid::regclass, t.tgname) as before,
       format('alter table %s enable %s trigger %I', t.tgrelid::regclass,
         case t.tgenabled when 'A' then 'always' when 'R' then 'replica' else '' end, t.tgname) as after
     from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where c.relnamespace = 'public'::regnamespace and not t.tgisinternal and t.tgparentid = 0
       and t.tgenabled <> 'D'
     order by t.tgrelid::regclass::text, t.tgname`,
  )
  return rows
}

/** Statements that drop everything in the schema except extensions and their objects. */
export const dropsOf = async (client: pg.ClientBase): Promise<string[]> => {
  const { rows } = await client.query<{ sql: string }>(
    `select format('drop %s if exists %s cascade', kind, name) as sql from (
       select 1 as turn, oid::regclass::text as name,
         case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
           else 'table' end as kind
       from pg_class c
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S') and not relispartition
         and ${notInExtension('pg_class', 'c.oid')}
       union all
       select 2, oid::regprocedure::text, 'routine'
       from pg_proc p
       where pronamespace = 'public'::regnamespace and ${notInExtension('pg_proc', 'p.oid')}
       union all
       select 3, oid::regtype::text, 'type'
       from pg_type t
       where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')
         and ${notInExtension('pg_type', 't.oid')}
     ) as objects
     order by turn, name`,
  )
  return rows.map(({ sql }) => sql)
}
