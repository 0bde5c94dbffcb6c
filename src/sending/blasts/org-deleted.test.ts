/** An org that is deleted while a send to an audience is loaded or dispatched. */
import { afterAll, describe, expect, test } from 'vitest'
import { type BlastClient, blastClient, email, readers } from '../../../test/clients/blast-client.ts'
import { primaryOwner } from '../../../test/clients/team-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const plain = { channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }
const many = 1_050

const deletionOf = async ({ orgId }: BlastClient) => {
  const owner = await primaryOwner(t, orgId)
  const [row] = await t.database.sql<{ slug: string }>('select slug from orgs where id = $1', [orgId])
  return async () => {
    const reply = await owner.ask('DELETE', '/api/internal/org', { confirm: row?.slug })
    expect(reply.status, reply.text).toBe(200)
  }
}

const stateOf = async ({ orgId }: BlastClient) => {
  const count = (rows: { status: string; n: number }[]) => Object.fromEntries(rows.map(({ status, n }) => [status, n]))
  const counted = async (table: string) =>
    count(
      await t.database.sql<{ status: string; n: number }>(
        `select status, count(*)::int as n from ${table} where org_id = $1 group by status`,
        [orgId],
      ),
    )
  const orphans = await t.database.sql(
    `select m.id from messages m
     where m.org_id = $1 and not exists (select 1 from jobs j where j.org_id = m.org_id and j.id = m.job_id)`,
    [orgId],
  )
  return { messages: await counted('messages'), jobs: await counted('jobs'), orphans }
}

const jobIdOf = async ({ orgId }: BlastClient): Promise<string | undefined> =>
  (await t.database.sql<{ id: string }>('select id from jobs where org_id = $1', [orgId]))[0]?.id

/** Nothing is sent from now on, however long it waits. */
const staysSilent = async (own: BlastClient, sent: number): Promise<void> => {
  for (const seconds of [0, 86_400]) {
    await own.advance(seconds)
    await own.fire()
    expect(await own.outbox()).toHaveLength(sent)
  }
}

/** The send and the deletion wait for locks. */
const untilBothWait = () =>
  expect
    .poll(() =>
      t.database.sql(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      ),
    )
    .toEqual([{ n: 2 }])

/** Inserts of this address wait for the lock that `holder` takes. */
const lockNumber = 4_711
const holdAddress = async (address: string) => {
  await t.database.sql(
    `create or replace function hold_address() returns trigger language plpgsql as $$
     begin
       if new.to_addresses[1] = '${address}' then perform pg_advisory_xact_lock(${lockNumber}); end if;
       return new;
     end $$`,
  )
  await t.database.sql(
    'create trigger hold_address before insert on messages for each row execute function hold_address()',
  )
  return () => t.database.sql('drop trigger hold_address on messages')
}

const untouched = { messages: {}, jobs: {}, orphans: [] }

/** A send to many readers that waits for a lock which another transaction holds. */
const heldSend = async (lock: string, address?: (i: number) => { email: string }) => {
  const own = await blastClient(t)
  const remove = await deletionOf(own)
  const id = await own.audience(readers(many, address))
  const body = email(await own.template(plain))
  const holder = await beginOtherTransaction(t.database)
  await holder.sql(lock)
  const sending = own.post(id, body)
  await holder.untilWaitedFor()
  /** Deletes the org while the send waits, and lets both go on. */
  const removeMeanwhile = async () => {
    const removing = remove()
    await untilBothWait()
    await holder.commit()
    const [reply] = await Promise.all([sending, removing])
    return reply
  }
  return { own, remove, holder, sending, removeMeanwhile }
}

describe('an org that is deleted while its send is loaded', () => {
  test('before the job exists refuses the send, and nothing is stored', async () => {
    const { own, remove, holder, sending } = await heldSend('lock table contacts')
    await remove()
    await holder.commit()
    expectRefusal(await sending, 'UNAUTHORIZED')
    expect(await stateOf(own)).toEqual(untouched)
    await staysSilent(own, 0)
  })

  test('at the moment when the job is created leaves no job', async () => {
    const { own, removeMeanwhile } = await heldSend('lock table jobs in share mode')
    expectRefusal(await removeMeanwhile(), 'UNAUTHORIZED')
    expect(await stateOf(own)).toEqual(untouched)
    await staysSilent(own, 0)
  })

  test('before its first rows cancels the job, which adds none', async () => {
    const { own, removeMeanwhile } = await heldSend('lock table messages in share mode')
    const reply = await removeMeanwhile()
    expectRefusal(reply, 'AUDIENCE_SEND_INCOMPLETE', { job_id: await jobIdOf(own) } as object)
    expect(await stateOf(own)).toEqual({ ...untouched, jobs: { canceled: 1 } })
    await staysSilent(own, 0)
  })

  test('with its last portion cancels the rows that landed, and the job', async () => {
    const release = await holdAddress(`held${many - 1}@reader.test`)
    const { own, removeMeanwhile } = await heldSend(`select pg_advisory_xact_lock(${lockNumber})`, (i) => ({
      email: `held${i}@reader.test`,
    }))
    // The deletion waits for the portion that is being moved.
    const reply = await removeMeanwhile()
    await release()
    // Both wait for the job. If the send gets it first, it is complete before the deletion.
    if (reply.status === 200) expect(reply.body).toMatchObject({ scheduled: many })
    else expectRefusal(reply, 'AUDIENCE_SEND_INCOMPLETE', { job_id: await jobIdOf(own) } as object)
    expect(await stateOf(own)).toEqual({ messages: { canceled: many }, jobs: { canceled: 1 }, orphans: [] })
    await staysSilent(own, 0)
  })
})

describe('an org that is deleted while its messages are dispatched', () => {
  const claimedBlast = async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(10))
    await own.sent(id, email(await own.template(plain)))
    await own.advance(60)
    const { scheduler } = t.service.modules.messages
    const rows = await scheduler.claim(100)
    expect(rows).toHaveLength(10)
    return { own, scheduler, rows, remove: await deletionOf(own) }
  }

  test('sends none of the messages that are claimed but not handed over', async () => {
    const { own, scheduler, rows, remove } = await claimedBlast()
    for (const row of rows.slice(0, 3)) await scheduler.fire(row)
    expect(await own.outbox()).toHaveLength(3)
    await remove()
    await Promise.all(rows.slice(3).map((row) => scheduler.fire(row)))
    expect(await stateOf(own)).toEqual({ messages: { sent: 3, canceled: 7 }, jobs: { canceled: 1 }, orphans: [] })
    const counted = await t.database.sql(
      `select used::int from usage_counters where org_id = $1 and subject = 'org' and measure = 'email' and period ~ '^....-..$'`,
      [own.orgId],
    )
    expect(counted).toEqual([{ used: 3 }])
    await staysSilent(own, 3)
  })

  test('sends nothing that a worker claimed before it died, or put off', async () => {
    const { own, scheduler, rows, remove } = await claimedBlast()
    await remove()
    await scheduler.fire({ ...(rows[0] as (typeof rows)[0]), org_suspended: true })
    expect((await stateOf(own)).messages).toEqual({ scheduled: 1, sending: 9 })
    await staysSilent(own, 0)
    expect(await stateOf(own)).toEqual({ messages: { canceled: 10 }, jobs: { canceled: 1 }, orphans: [] })
  })
})
