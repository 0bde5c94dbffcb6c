import { afterAll, describe, expect, test } from 'vitest'
import { tenantClient } from '../../test/clients/tenant-client.ts'
import { startTestService } from '../../test/service/service.ts'
import type { Tx } from '../db/pool.ts'
import { newId } from '../ground/ids.ts'
import { tenantErasureSteps } from './tenant-erasure.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await t.org()
const orgId = acme.org.id
const { made, move } = tenantClient(t, acme)

/** Tables with a tenant whose rows no step changes, and why. */
const untouched: Record<string, string> = {
  analytics_days: 'Counts of a day. They name nobody, and the figures of the org must not change.',
  api_keys: 'Keys are revoked when the erasure finishes, so that their requests get the error of a revoked key.',
  domains: 'A domain stays bound, so that no other tenant can send from it until the org rebinds or deletes it.',
}

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

test('AD-107 every table with a tenant is part of the erasure, or listed with the reason why not', async () => {
  const tables = await t.database.sql<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.column_name = 'tenant_id' and c.table_schema = 'public' and t.table_type = 'BASE TABLE'
       and not exists (select 1 from pg_inherits i where i.inhrelid = c.table_name::regclass)
     order by 1`,
  )
  const names = tables.map(({ name }) => name)
  const erased = await tablesOfSteps()
  expect(names.filter((name) => !erased.has(name) && !untouched[name])).toEqual([])
  expect(Object.keys(untouched).filter((name) => erased.has(name) || !names.includes(name))).toEqual([])
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
