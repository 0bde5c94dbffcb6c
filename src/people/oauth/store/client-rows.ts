/** Registered clients. They belong to no org: people of any org can allow a client to act for them. */
import type { Given } from '../../../platform/db/columns.ts'
import { statement, unseen } from '../../../platform/db/statement.ts'

export type ClientRow = { id: string; name: string; redirect_uris: string[] }

/**
 * Registers a client. While too many wait for their first use, the oldest of the source with the most of them gives way,
 * so that one source neither keeps others out nor removes their clients. A client that another statement holds is passed
 * over: two registrations that remove the same clients would otherwise deadlock, and a client in its first use would go.
 */
export const insertClient = statement<
  Given<ClientRow, 'id' | 'name' | 'redirect_uris'> & { source: string; at: Date; maxUnused: number }
>(
  'oauth.insert_client',
  `with waiting as (
     select id, created_at, count(*) over () as n, count(*) over (partition by source) as of_source
     from oauth_clients where used_at is null
   ), removed as (
     delete from oauth_clients where id in (
       select id from oauth_clients
       where used_at is null and id in (
         select id from waiting
         order by of_source desc, created_at, id
         limit greatest(0, (select max(n) from waiting) + 1 - :maxUnused))
       for update skip locked)
   )
   insert into oauth_clients (id, name, redirect_uris, source, created_at)
   values (:id, :name, :redirectUris::text[], :source, :at)`,
)

export const findClient = statement<{ id: string }, ClientRow>(
  'oauth.find_client',
  'select id, name, redirect_uris from oauth_clients where id = :id',
)

export const useClient = statement<{ id: string; at: Date }>(
  'oauth.use_client',
  'update oauth_clients set used_at = :at, source = null where id = :id',
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
