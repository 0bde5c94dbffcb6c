/**
 * Remembers the entries that this process has committed until they are linked. An entry that is deleted together with
 * its place in the queue before it is linked leaves no trace in the database, but this process knows that it existed.
 */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { dayMs } from '../../platform/ground/units.ts'
import type { Audit, EntryFields } from './append.ts'
import { prunedStatus } from './chain-ends.ts'
import type { AuditSecrets } from './judge-entry.ts'
import { deletedLogs, stateOfEntries } from './store/watch-rows.ts'

const checkEveryMs = 5_000
/** Without a worker, entries wait for long. Each is checked again when it has waited twice as long as before. */
const maxPauseMs = 10 * 60_000
const chunk = 1_000
/** Enough for minutes of full load without a worker. Above it, new entries are not remembered. */
const maxRemembered = 100_000
/**
 * Reading every entry again would cost as much as a tenth of its send. Between two checks, the first entries are all
 * remembered, and of the sends after them every sixteenth, chosen by chance: who removes entries cannot know which.
 */
const alwaysRemembered = 200
const oneSendOf = 16

type Noted = Pick<EntryFields, 'orgId' | 'id' | 'action'>
type Remembered = Noted & { checkAt: number; pauseMs: number }

type Needs = {
  db: Db
  clock: Clock
  log: Log
  days: number
  secrets: AuditSecrets
  audit: () => Audit
  random?: () => number
}

export const makeWrittenEntries = (needs: Needs) => {
  const { db, clock, log, days, secrets, audit, random = Math.random } = needs
  const remembered = new Map<string, Remembered>()
  /** Entries that were committed since the last check. */
  let committed = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const isExpired = (id: string): boolean => timeOfId(id) < clock.millis() - days * dayMs

  /** Forgets the entries that are linked or that retention may have removed, and returns those that are gone. */
  const sort = async (entries: Remembered[]): Promise<Remembered[]> => {
    const states = await db.rows(stateOfEntries, {
      orgIds: entries.map((entry) => entry.orgId),
      ids: entries.map((entry) => entry.id),
    })
    return entries.filter((entry, i) => {
      const waits = states[i]?.present && !states[i]?.linked
      if (waits) {
        entry.checkAt = performance.now() + entry.pauseMs
        entry.pauseMs = Math.min(entry.pauseMs * 2, maxPauseMs)
      } else remembered.delete(entry.id)
      return !states[i]?.present && !states[i]?.linked && !isExpired(entry.id)
    })
  }

  /**
   * Leaves out the entries of deleted orgs whose log the service has deleted. Before it does, it signs the head of the
   * chain as its old end, which nobody else can do: see delete-log.ts.
   */
  const withoutDeletedLogs = async (gone: Remembered[]): Promise<Remembered[]> => {
    if (gone.length === 0) return gone
    const rows = await db.rows(deletedLogs, { orgIds: [...new Set(gone.map(({ orgId }) => orgId))] })
    const deleted = new Set(
      rows.filter((row) => prunedStatus(secrets, row.org_id, row) === 'ok').map(({ org_id }) => org_id),
    )
    return gone.filter(({ orgId }) => !deleted.has(orgId))
  }

  const report = async ({ orgId, id, action }: Remembered): Promise<void> => {
    log.error({ org_id: orgId, entry_id: id, action }, 'audit entry lost')
    const entry = { orgId, actor: { kind: 'system' }, action: 'audit.entry_lost', metadata: { action } } as const
    await db.tx((tx) => audit()(tx, { ...entry, resourceType: 'audit', resourceId: id }))
  }

  const check = async (entries: Remembered[]): Promise<number> => {
    let lost = 0
    for (let i = 0; i < entries.length; i += chunk) {
      for (const entry of await withoutDeletedLogs(await sort(entries.slice(i, i + chunk)))) {
        await report(entry)
        lost++
      }
    }
    return lost
  }

  const schedule = (): void => {
    if (closed || timer || remembered.size === 0) return
    timer = setTimeout(async () => {
      committed = 0
      const now = performance.now()
      const due = [...remembered.values()].filter(({ checkAt }) => checkAt <= now)
      await check(due).catch((error: unknown) => log.warn({ err: error }, 'audit entries not checked'))
      timer = undefined
      schedule()
    }, checkEveryMs)
    timer.unref()
  }

  const isRemembered = (action: string): boolean =>
    remembered.size < maxRemembered &&
    (++committed <= alwaysRemembered || action !== 'message.sent' || random() * oneSendOf < 1)

  return {
    note: (rows: readonly Noted[]): void => {
      for (const { orgId, id, action } of rows) {
        if (isRemembered(action)) remembered.set(id, { orgId, id, action, checkAt: 0, pauseMs: checkEveryMs })
      }
      schedule()
    },
    /** Looks for entries that are gone, and writes an audit entry about each. Returns how many it found. */
    check: (): Promise<number> => check([...remembered.values()]),
    close: (): void => {
      closed = true
      clearTimeout(timer)
    },
  }
}
