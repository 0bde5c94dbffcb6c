import { statement } from '../db/statement.ts'

export const readSetting = statement<{ name: string }, { value: unknown }>(
  'settings.read',
  'select value from settings where name = :name',
)

export const writeSetting = statement<{ name: string; value: string; at: Date }>(
  'settings.write',
  `insert into settings (name, value, updated_at) values (:name, :value::jsonb, :at)
   on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at`,
)

/** Writes a setting that can be written only once. Only the first caller gets a row back. */
export const claimSetting = statement<{ name: string; value: string; at: Date }, { name: string }>(
  'settings.claim',
  `insert into settings (name, value, updated_at) values (:name, :value::jsonb, :at)
   on conflict (name) do nothing
   returning name`,
)
