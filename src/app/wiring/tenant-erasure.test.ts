import { afterAll, describe, expect, test } from 'vitest'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ground/ids.ts'
import { tenantErasureSteps } from './tenant-erasure.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await t.org()
const orgId = acme.org.id
const { made, move } = tenantClient(t, acme)

/** Tables whose rows no step changes, and why. */
const untouched: Record<string, string[]> = {
  'Counts. They name nobody, and the figures of the org must not change.': [
    'analytics_counts',
    'analytics_days',
    'analytics_firsts',
    'analytics_queue',
    'removed_job_messages',
    'tracking_marks',
    'tracking_windows',
    'usage_alerts',
    'usage_counters',
    'usage_leases',
    'usage_reservations',
  ],
  'Keys are revoked when the erasure finishes, so that their requests get the error of a revoked key.': ['api_keys'],
  'A domain stays bound, so that no other tenant can send from it until the org rebinds or deletes it.': ['domains'],
  'It says that the tenant was erased, and keeps no name of it.': ['tenants'],
  'Hashes of destinations, which are deleted after an hour.': ['verification_windows'],
  'Ids of notifications, without their content.': ['provider_notifications'],
  'The audit log is kept as a whole.': [
    'audit_chains',
    'audit_entries',
    'audit_links',
    'audit_register',
    'audit_register_head',
    'audit_unlinked',
  ],
  'Deleted with the rows that they refer to.': ['audience_members', 'inbound_attachments', 'webhook_lanes'],
  'Belongs to the org or the installation, and never to a tenant.': [
    'billing_customers',
    'billing_events',
    'billing_subscriptions',
    'brands',
    'campaigns',
    'dlt_entities',
    'dlt_headers',
    'dlt_templates',
    'export_jobs',
    'health_probes',
    'ip_pools',
    'org_email_domains',
    'orgs',
    'projects',
    'schema_migrations',
    'service_processes',
    'settings',
    'simulated_registry',
    'spend_alert_mails',
  ],
  'The people of an org, and how they sign in.': [
    'account_codes',
    'account_unlocks',
    'backup_codes',
    'invitations',
    'login_challenges',
    'memberships',
    'oauth_access_tokens',
    'oauth_clients',
    'oauth_grants',
    'oauth_requests',
    'password_guesses',
    'password_resets',
    'scim_group_members',
    'scim_group_roles',
    'scim_groups',
    'scim_mappings',
    'scim_tokens',
    'scim_users',
    'sessions',
    'sign_in_attempts',
    'sign_in_identities',
    'sso_connections',
    'sso_used_ids',
    'users',
  ],
}
const reasonFor = new Map(Object.entries(untouched).flatMap(([why, names]) => names.map((name) => [name, why])))

/** The tables that a step changes, read from the SQL that it runs. */
const tablesOfSteps = async (): Promise<Set<string>> => {
  const texts: string[] = []
  const tx = {
    change: async ({ text }: { text: string }) => {
      texts.push(text)
      return 0
    },
  } as unknown as Tx
  for (const step of tenantErasureSteps(t.service.modules)) {
    await step.run(tx, { orgId, tenantId: newId('tenant'), limit: 1 })
  }
  return new Set(texts.flatMap((text) => [...text.matchAll(/(?:delete from|update) (\w+)/g)].map((found) => found[1]!)))
}

test('AD-107 every table is part of the erasure of a tenant, or listed with the reason why not', async () => {
  const tables = await t.database.sql<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'
       and not exists (select 1 from pg_inherits i where i.inhrelid = table_name::regclass)
     order by 1`,
  )
  const names = tables.map(({ name }) => name)
  const erased = await tablesOfSteps()
  expect(names.filter((name) => !erased.has(name) && !reasonFor.has(name))).toEqual([])
  expect([...reasonFor.keys()].filter((name) => erased.has(name) || !names.includes(name))).toEqual([])
})

describe('the erasure of a tenant', () => {
  const at = t.service.clock.now()
  const fill = (tenantId: string | null, n: number) =>
    t.database.sql(
      `with numbers as (select g from generate_series(1, $3::int) g),
       claims as (
         insert into idempotency_keys (org_id, tenant_id, environment, key, fingerprint, claim, status, body, created_at,
           expires_at)
         select $1, $2, 'live', 'order-' || g, '', 'claim', 200, '{"email":"ann@example.com"}', $4, $4 from numbers),
       jobs as (
         insert into jobs (org_id, id, tenant_id, environment, project_id, audience_id, channel, status, from_address,
           template, total, created_at)
         select $1, 'job_' || coalesce($2, '') || g, $2, 'live', 'p', 'a', 'email', 'completed',
           case when g % 2 = 0 then 'Ann Smith <ann@example.com>' else 'ann@example.com' end, 'welcome', 1, $4
         from numbers)
       insert into events (org_id, id, tenant_id, environment, event, data, created_at)
       select $1, 'evt_' || coalesce($2, '') || g, $2, 'live', 'contact.created', '{"to":"ann@example.com"}', $4
       from numbers`,
      [orgId, tenantId, n, at],
    )
  const left = async (tenantId: string | null) =>
    (
      await t.database.sql(
        `select
           (select count(*)::int from idempotency_keys where org_id = $1 and tenant_id is not distinct from $2) as claims,
           (select count(*)::int from events
            where org_id = $1 and tenant_id is not distinct from $2 and event <> 'tenant.erased') as events,
           (select count(*)::int from jobs where org_id = $1 and tenant_id is not distinct from $2) as jobs,
           (select count(*)::int from jobs
            where org_id = $1 and tenant_id is not distinct from $2 and from_address <> 'ann@example.com') as names`,
        [orgId, tenantId],
      )
    )[0]

  test('AD-107 removes recorded responses, waiting events and sender names, and nothing of others', async () => {
    const [id, other] = [await made('archived'), await made()]
    await fill(id, 1_201)
    for (const tenantId of [other, null]) await fill(tenantId, 2)
    expect((await move('erase', id)).status).toBe(200)
    expect(await left(id)).toEqual({ claims: 0, events: 0, jobs: 1_201, names: 0 })
    for (const tenantId of [other, null]) {
      expect(await left(tenantId)).toEqual({ claims: 2, events: 2, jobs: 2, names: 1 })
    }
  })

  test('AD-107 removes what providers and numbers keep about recipients, and nothing of others', async () => {
    const [id, other] = [await made('archived'), await made()]
    const number = (place: number) => `+1555010${place}`
    const keep = async (tenantId: string | null, place: number, rows: number) => {
      const name = `kept${place}`
      const given = [orgId, tenantId, rows, at, name, number(place)]
      await t.database.sql(
        `with made as (
           insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status,
             from_address, to_addresses, history)
           select $1, 'msg_' || $5 || g, $4, $2, 'live', 'p', 'sms', 'sent', 'X', array['+15550199'], '[]'
           from generate_series(1, $3::int) g returning id),
         phones as (
           insert into phone_numbers (org_id, id, tenant_id, environment, kind, e164, iso_country, status, created_at,
             updated_at)
           values ($1, 'pn_' || $5, $2, 'live', 'number', $6, 'US', 'verified', $4, $4)),
         parts as (
           insert into inbound_sms_parts (org_id, group_id, part, parts, provider, from_address, to_address, reference,
             digest, received_at, created_at)
           select $1, 'group-' || $5, g, 255, 'smpp', '+15550199', $6, '1', '', $4, $4 from generate_series(1, 2) g),
         receipts as (
           insert into sms_receipts (provider, provider_message_id, org_id, message_id, part, parts, recipient_end, at)
           select 'smpp', $5 || id, $1, id, 1, 1, '0199', $4 from made)
         insert into local_outbox (id, channel, message_id, mail, at)
         select 'local_' || $5 || id, 'sms', id, '{"recipients":["+15550199"]}', $4 from made`,
        given,
      )
    }
    const kept = async (place: number) =>
      (
        await t.database.sql(
          `select
             (select count(*)::int from sms_receipts where org_id = $1 and message_id ~ $2) as receipts,
             (select count(*)::int from local_outbox where message_id ~ $2) as mails,
             (select count(*)::int from inbound_sms_parts where org_id = $1 and to_address = $3) as parts`,
          [orgId, `^msg_kept${place}`, number(place)],
        )
      )[0]
    await keep(id, 1, 1_201)
    await keep(other, 2, 2)
    await keep(null, 3, 2)
    expect(await kept(1)).toEqual({ receipts: 1_201, mails: 1_201, parts: 2 })
    expect((await move('erase', id)).status).toBe(200)
    expect(await kept(1)).toEqual({ receipts: 0, mails: 0, parts: 0 })
    for (const place of [2, 3]) expect(await kept(place)).toEqual({ receipts: 2, mails: 2, parts: 2 })
  })

  test('AD-107 continues in chunks after a failure, with what was erased before it', async () => {
    const id = await made('suspended')
    await fill(id, 1_201)
    await t.database.sql(`create function fail_claims() returns trigger language plpgsql as
      $$ begin
        if (select count(*) from idempotency_keys where tenant_id = old.tenant_id) <= 201 then
          raise exception 'delete failed';
        end if;
        return old;
      end $$`)
    await t.database.sql(
      'create trigger fail_claims before delete on idempotency_keys for each row execute function fail_claims()',
    )
    expect((await move('erase', id)).status).toBe(500)
    await t.database.sql('drop function fail_claims cascade')
    expect(await left(id)).toEqual({ claims: 201, events: 0, jobs: 1_201, names: 0 })
    expect((await move('erase', id)).body).toMatchObject({ id, status: 'erased' })
    expect(await left(id)).toEqual({ claims: 0, events: 0, jobs: 1_201, names: 0 })
  })
})
