/** Registered clients. They belong to no org: people of any org can allow a client to act for them. */
import { statement, unseen } from '../../db/statement.ts'

export type ClientRow = { id: string; name: string; redirect_uris: string[] }

/**
 * Registers a client unless too many are waiting for their first use. Clients that have waited for longer than
 * `staleBefore` give way first, so that abandoned registrations do not keep others out.
 */
export const insertClient = statement<
  { id: string; name: string; redirectUris: string[]; at: Date; staleBefore: Date; maxUnused: number },
  { id: string }
>(
  'oauth.insert_client',
  `with waiting as (
     select count(*) as n, count(*) filter (where created_at <= :staleBefore) as stale
     from oauth_clients where used_at is null
   ), removed as (
     delete from oauth_clients
     where used_at is null and created_at <= :staleBefore and (select n from waiting) >= :maxUnused
   )
   insert into oauth_clients (id, name, redirect_uris, created_at)
   select :id, :name, :redirectUris::text[], :at from waiting where n < :maxUnused or stale > 0
   returning id`,
)

export const findClient = statement<{ id: string }, ClientRow>(
  'oauth.find_client',
  'select id, name, redirect_uris from oauth_clients where id = :id',
)

export const useClient = statement<{ id: string; at: Date }>(
  'oauth.use_client',
  'update oauth_clients set used_at = :at where id = :id',
)

/** Clients that nobody has allowed anything for a day, and those without a grant for a long time. */
export const sweepClients = statement<{ unusedBefore: Date; usedBefore: Date }>(
  'oauth.sweep_clients',
  `delete from oauth_clients c
   where (c.used_at is null and c.created_at <= :unusedBefore)
      or (c.used_at <= :usedBefore and not exists (select 1 from oauth_grants g where g.client_id = c.id))`,
)

/** The last use of a client is recorded for failed requests too. */
unseen(useClient)
