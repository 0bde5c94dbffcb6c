/** Describes a database schema as text. Two databases with the same text have the same schema. */
import type { TestDatabase } from './database.ts'

const parts = {
  relations: `
    select concat_ws(' ', oid::regclass, relkind, relpersistence, relrowsecurity, reloptions::text,
      pg_get_expr(relpartbound, oid), case when relkind = 'p' then pg_get_partkeydef(oid) end,
      case when relkind in ('v', 'm') then pg_get_viewdef(oid) end) as line
    from pg_class where relnamespace = 'public'::regnamespace and relkind <> 't'`,
  columns: `
    select concat_ws(' ', a.attrelid::regclass, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
      a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, l.collname) as line
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p', 'v', 'm', 'f')
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation l on l.oid = a.attcollation
    where c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped`,
  constraints: `
    select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated) as line
    from pg_constraint where connamespace = 'public'::regnamespace`,
  indexes: `
    select concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid) as line
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'public'::regnamespace`,
  triggers: `
    select concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled) as line
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'public'::regnamespace and not t.tgisinternal`,
  functions: `
    select pg_get_functiondef(oid) as line
    from pg_proc where pronamespace = 'public'::regnamespace and prokind in ('f', 'p')`,
  types: `
    select concat_ws(' ', t.typname, t.typtype, format_type(nullif(t.typbasetype, 0), t.typtypmod),
      (select string_agg(enumlabel, ',' order by enumsortorder) from pg_enum where enumtypid = t.oid)) as line
    from pg_type t where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd', 'r')`,
  policies: `select p::text as line from pg_policies p where schemaname = 'public'`,
  sequences: `
    select concat_ws(' ', sequencename, data_type, start_value, increment_by, max_value) as line
    from pg_sequences where schemaname = 'public'`,
}

export type Catalogue = Record<keyof typeof parts, string[]>

export const catalogueOf = async (database: TestDatabase): Promise<Catalogue> => {
  const found: Record<string, string[]> = {}
  for (const [part, sql] of Object.entries(parts)) {
    found[part] = (await database.sql<{ line: string }>(sql)).map(({ line }) => line).sort()
  }
  return found as Catalogue
}
