/**
 * The attacks on the audit log that docs/audit.md lists, each as the SQL of someone who can change the database but
 * does not know the secret. A test runs them, and another compares this list with the page.
 */
import { newId, timeOfId } from '../../src/platform/ground/ids.ts'
import type { TestService } from '../service/service.ts'
import { tamper } from './tamper.ts'

export type Target = {
  t: TestService
  orgId: string
  /** Five linked entries in order. */
  ids: string[]
  /** Writes another entry, which waits to be linked, and returns its id. */
  write: () => Promise<string>
  /** Runs SQL in which $1 is the org and $2 to $6 are its entries. */
  sql: (...statements: string[]) => Promise<void>
  link: () => Promise<number>
  retain: () => Promise<unknown>
  /** Restores what `save` saved: the chain, its links and its entries, and the register. */
  save: () => Promise<void>
  restore: () => Promise<void>
  /** The newest head, as `ops audit head` prints it. */
  head: () => Promise<string>
  /** The witness of the service, written up to now. */
  witness: () => Promise<string>
}

/** The findings in the report, and the options of the command. */
type Outcome = { found: Record<string, unknown>; options?: string[] }

export type Attack = { attack: string; shows: string; run: (target: Target) => Promise<Outcome> }

const third = ({ ids }: Target): string[] => [ids[2] as string]

/** Changes the third entry, which is linked. */
const change =
  (assignment: string, ...kinds: string[]): Attack['run'] =>
  async (target) => {
    await target.sql(`update audit_entries set ${assignment} where org_id = $1 and id = $4`)
    return { found: Object.fromEntries(kinds.map((kind) => [kind, third(target)])) }
  }

/** Changes an entry that waits to be linked, and then lets the service link. */
const changeWaiting =
  (assignment: string, kind: string): Attack['run'] =>
  async (target) => {
    const id = await target.write()
    await target.sql(`update audit_entries set ${assignment} where org_id = $1 and id = '${id}'`)
    return { found: { [kind]: [id], waiting: 1 } }
  }

type Forged = { at?: number; columns?: string; values?: string; queued?: boolean }

/** Inserts an entry with a plausible id and time, and its place in the queue. */
const forge = async (target: Target, { at, columns = '', values = '', queued = true }: Forged): Promise<string> => {
  const id = newId('auditEntry', at ?? target.t.service.clock.millis())
  const createdAt = new Date(timeOfId(id)).toISOString()
  const extra = (list: string) => (list === '' ? '' : `, ${list}`)
  await target.sql(
    `insert into audit_entries (org_id, id, created_at, action${extra(columns)})
     select $1, '${id}', '${createdAt}', ${columns.includes('seal') ? 'action' : "'org.suspended'"}${extra(values)}
     from audit_entries where org_id = $1 and id = $4`,
    queued ? `insert into audit_unlinked values ($1, '${createdAt}', '${id}')` : 'select 1',
  )
  return id
}

const deleteLog = [
  'delete from audit_entries where org_id = $1',
  'delete from audit_links where org_id = $1',
  'delete from audit_unlinked where org_id = $1',
  'delete from audit_chains where org_id = $1',
]

const moveHeadBack = [
  'delete from audit_entries where org_id = $1 and id in ($5, $6)',
  'delete from audit_links where org_id = $1 and seq > 3',
  `update audit_chains set head_seq = 3, head_digest = (select digest from audit_links where org_id = $1 and seq = 3)
   where org_id = $1`,
]

/** Goes back to a state that the service itself signed, when the chain had five entries. */
const rollBack = async (target: Target): Promise<void> => {
  await target.save()
  await target.write()
  await target.link()
}

export const attacks: Attack[] = [
  { attack: 'change the actor of an entry', shows: '`invalid`', run: change("actor_user_id = 'usr_x'", 'invalid') },
  {
    attack: 'clear the actor of an entry, as an erasure does',
    shows: '`invalid`',
    run: change('actor_user_id = null', 'invalid'),
  },
  { attack: 'change the address of an entry', shows: '`invalid`', run: change("ip_address = '::1'", 'invalid') },
  { attack: 'change the user agent of an entry', shows: '`invalid`', run: change("user_agent = 'curl'", 'invalid') },
  {
    attack: 'change the signature of an entry',
    shows: '`invalid`',
    run: change("signature = repeat('0', 64)", 'invalid'),
  },
  { attack: 'remove the signature of an entry', shows: '`stripped`', run: change('signature = null', 'stripped') },
  { attack: 'change the seal of an entry', shows: '`invalid`', run: change("seal = '2:0'", 'invalid') },
  {
    attack: 'remove the seal of an entry and change its address',
    shows: '`stripped`',
    run: change("seal = null, ip_address = '::1'", 'stripped'),
  },
  {
    attack: 'change the action, the resource or the metadata of an entry',
    shows: '`broken`, `invalid`',
    run: change("action = 'org.deleted', resource_id = 'x', metadata = null", 'broken', 'invalid'),
  },
  {
    attack: 'change the time of an entry',
    shows: '`broken`, `misdated`',
    run: change("created_at = created_at - interval '1 hour'", 'broken', 'misdated'),
  },
  {
    attack: 'insert an entry without a place in the queue',
    shows: '`stray`',
    run: async (target) => ({ found: { stray: [await forge(target, { queued: false })] } }),
  },
  {
    attack: 'insert an entry with its place in the queue',
    shows: '`stripped`',
    run: async (target) => ({ found: { stripped: [await forge(target, {})], waiting: 1 } }),
  },
  {
    attack: 'insert an entry with its place in the queue and the signature and seal of another entry',
    shows: '`invalid`',
    run: async (target) => {
      const columns = 'actor_user_id, ip_address, user_agent, signature, seal'
      return { found: { invalid: [await forge(target, { columns, values: columns })], waiting: 1 } }
    },
  },
  {
    attack: 'insert an entry with its place in the queue and a time before `AUDIT_SIGNING_CUTOVER`',
    shows: '`stripped`',
    run: async (target) => ({
      found: { stripped: [await forge(target, { at: Date.parse('2026-08-01T00:00:00Z') })], waiting: 1 },
    }),
  },
  {
    attack: 'insert the entry of an operator command with its place in the queue',
    shows: '`stripped`',
    run: async (target) => {
      const forged = { columns: 'user_agent', values: "'operator-tool'" }
      return { found: { stripped: [await forge(target, forged)], waiting: 1 } }
    },
  },
  {
    attack: 'put a linked entry into the queue again',
    shows: '`stray`',
    run: async (target) => {
      await target.sql(`insert into audit_unlinked select org_id, created_at, id from audit_entries
        where org_id = $1 and id = $4`)
      return { found: { stray: third(target), waiting: 1 } }
    },
  },
  {
    attack: 'change the content of an entry that waits to be linked',
    shows: '`invalid`',
    run: changeWaiting("resource_id = 'x'", 'invalid'),
  },
  {
    attack: 'change the address of an entry that waits to be linked',
    shows: '`invalid`',
    run: changeWaiting("ip_address = '::1'", 'invalid'),
  },
  {
    attack: 'change the actor of an entry that waits to be linked',
    shows: '`invalid`',
    run: changeWaiting("actor_user_id = 'usr_x'", 'invalid'),
  },
  {
    attack: 'delete an entry that waits to be linked',
    shows: '`missing`',
    run: async (target) => {
      const id = await target.write()
      await target.sql(`delete from audit_entries where org_id = $1 and id = '${id}'`)
      return { found: { missing: [id], waiting: 1 } }
    },
  },
  {
    attack: 'delete the place in the queue of an entry that waits to be linked',
    shows: '`stray`',
    run: async (target) => {
      const id = await target.write()
      await target.sql(`delete from audit_unlinked where org_id = $1`)
      return { found: { stray: [id] } }
    },
  },
  {
    attack: 'delete an entry that waits to be linked together with its place in the queue',
    shows: '`missing`',
    run: async (target) => {
      const id = await target.write()
      await target.sql(
        `delete from audit_entries where org_id = $1 and id = '${id}'`,
        'delete from audit_unlinked where org_id = $1',
      )
      await target.t.service.modules.writtenEntries.check()
      return { found: { missing: [id], checked: 6 } }
    },
  },
  {
    attack: 'delete a linked entry',
    shows: '`missing`',
    run: async (target) => {
      await target.sql('delete from audit_entries where org_id = $1 and id = $4')
      return { found: { missing: third(target) } }
    },
  },
  {
    attack: 'delete a linked entry together with its link',
    shows: '`broken`',
    run: async (target) => {
      await target.sql(
        'delete from audit_entries where org_id = $1 and id = $4',
        'delete from audit_links where org_id = $1 and seq = 3',
      )
      return { found: { checked: 4, broken: [target.ids[3]] } }
    },
  },
  {
    attack: 'change the time of an entry, so that retention deletes it',
    shows: '`broken`, `misdated`',
    run: async (target) => {
      await target.sql(`update audit_entries set created_at = created_at - interval '60 days'
        where org_id = $1 and id = $2`)
      await target.retain()
      const first = [target.ids[0]]
      return { found: { broken: first, misdated: first } }
    },
  },
  {
    attack: 'delete an entry and put an old id into its link, so that retention deletes the link',
    shows: '`missing`',
    run: async (target) => {
      const old = newId('auditEntry', target.t.service.clock.millis() - 60 * 86_400_000)
      await target.sql(
        'delete from audit_entries where org_id = $1 and id = $2',
        `update audit_links set entry_id = '${old}' where org_id = $1 and seq = 1`,
      )
      await target.retain()
      return { found: { missing: [old] } }
    },
  },
  {
    attack: 'delete the oldest entries and mark them as deleted by retention',
    shows: '`pruned` is `invalid`',
    run: async (target) => {
      await target.sql(
        'delete from audit_entries where org_id = $1 and id in ($2, $3)',
        `update audit_chains set pruned_seq = 2, pruned_signature = repeat('0', 64),
           pruned_digest = (select digest from audit_links where org_id = $1 and seq = 2) where org_id = $1`,
        'delete from audit_links where org_id = $1 and seq <= 2',
      )
      await target.write()
      await target.retain()
      return { found: { checked: 3, pruned: 'invalid', waiting: 1 } }
    },
  },
  {
    attack: 'delete the newest entries and move the head back, before the service links the next entry',
    shows: '`head` is `invalid`',
    run: async (target) => {
      await target.sql(...moveHeadBack)
      await target.write()
      return { found: { checked: 3, head: 'invalid', waiting: 1 } }
    },
  },
  {
    attack: 'delete the newest entries, move the head back and remove its signature',
    shows: '`head` is `stripped`',
    run: async (target) => {
      await target.sql(...moveHeadBack, 'update audit_chains set head_signature = null where org_id = $1')
      await target.write()
      return { found: { checked: 3, head: 'stripped', waiting: 1 } }
    },
  },
  {
    attack: 'delete the whole log of an org',
    shows: '`head` is `deleted`',
    run: async (target) => {
      await target.sql(...deleteLog)
      return { found: { checked: 0, head: 'deleted' } }
    },
  },
  {
    attack: 'delete the whole log of an org, before the service links the next entry',
    shows: '`head` is `deleted`',
    run: async (target) => {
      await target.sql(...deleteLog)
      await target.write()
      return { found: { checked: 0, head: 'deleted', waiting: 1 } }
    },
  },
  {
    attack: 'delete the whole log of an org and its row in the register',
    shows: '`register` is `broken`',
    run: async (target) => {
      await target.sql(...deleteLog, 'delete from audit_register where org_id = $1')
      return { found: { checked: 0, head: 'none', register: 'broken' } }
    },
  },
  {
    attack: 'delete the whole log of an org and the whole register',
    shows: '`register` is `broken`',
    run: async (target) => {
      await target.sql(...deleteLog, 'delete from audit_register', 'delete from audit_register_head')
      return { found: { checked: 0, head: 'none', register: 'broken' } }
    },
  },
  {
    attack: 'restore an earlier state of the log',
    shows: '`rolled_back`, with a witness',
    run: async (target) => {
      await rollBack(target)
      const file = await target.witness()
      await target.restore()
      return { found: { witnessed: 2, rolled_back: [6] }, options: ['--witness', file] }
    },
  },
  {
    attack: 'restore an earlier state of the log, before the service links more entries than were lost',
    shows: '`rolled_back`, with a witness',
    run: async (target) => {
      await rollBack(target)
      const file = await target.witness()
      await target.restore()
      for (const _ of [1, 2, 3]) await target.write()
      await target.link()
      await target.witness()
      return { found: { checked: 8, witnessed: 3, rolled_back: [6] }, options: ['--witness', file] }
    },
  },
  {
    attack: 'restore an earlier state of the log, compared with a head that you kept',
    shows: '`rolled_back`, with `--head`',
    run: async (target) => {
      await rollBack(target)
      const head = await target.head()
      await target.restore()
      return { found: { witnessed: 1, rolled_back: [6] }, options: ['--head', head] }
    },
  },
  {
    attack: 'delete the whole log of an org and restore the register from before that org',
    shows: '`rolled_back` and `register` is `rolled_back`, with a witness',
    run: async (target) => {
      const file = await target.witness()
      await target.sql(...deleteLog)
      await target.restore()
      return {
        found: { checked: 0, head: 'none', register: 'rolled_back', witnessed: 1, rolled_back: [5] },
        options: ['--witness', file],
      }
    },
  },
]

const saved = [
  'audit_entries',
  'audit_links',
  'audit_unlinked',
  'audit_chains',
  'audit_register',
  'audit_register_head',
]

/** Copies all audit tables, as a backup does. The copies stay, because each new table makes the database plan again. */
export const saveTables = (t: TestService): Promise<unknown> => {
  const copies = saved.map(
    (table) => `create table if not exists saved_${table} (like ${table});
      delete from saved_${table};
      insert into saved_${table} select * from ${table};`,
  )
  return t.database.sql(`begin; ${copies.join('\n')} commit;`)
}

export const restoreTables = (t: TestService): Promise<unknown> => {
  const copies = saved.map((table) => `delete from ${table}; insert into ${table} select * from saved_${table};`)
  return tamper(t.database, [copies.join('\n')])
}
