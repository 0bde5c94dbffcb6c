/**
 * Messages for a local time are stored with the instant that the zone's rules gave when they were accepted. A process
 * with other rules computes the instants again when it starts.
 */
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { readSetting, writeSetting } from '../../../platform/settings/store.ts'
import { listLocalScheduled, moveScheduled } from '../store/claim-messages.ts'
import { localDueAt } from './sms-draft.ts'

const setting = 'time_zone_rules'
const atOnce = 500

type Needs = {
  db: Db
  clock: Clock
  log: Log
  /** The version of the rules in this process. */
  rules?: string
}

export const makeRescheduleLocal =
  ({ db, clock, log, rules = process.versions.tz ?? 'unknown' }: Needs) =>
  async (): Promise<number> => {
    if ((await db.row(readSetting, { name: setting }))?.value === rules) return 0
    let moved = 0
    let last = { orgId: '', id: '' }
    for (;;) {
      const rows = await db.rows(listLocalScheduled, { afterOrg: last.orgId, afterId: last.id, limit: atOnce })
      for (const { org_id: orgId, id, created_at: createdAt, scheduled_at: former, sms } of rows) {
        const dueAt = localDueAt({ sms })
        if (!dueAt || !former || dueAt.getTime() === former.getTime()) continue
        moved += await db.change(moveScheduled, { orgId, id, createdAt, former, dueAt })
      }
      const end = rows.at(-1)
      if (!end || rows.length < atOnce) break
      last = { orgId: end.org_id, id: end.id }
    }
    await db.change(writeSetting, { name: setting, value: JSON.stringify(rules), at: clock.now() })
    if (moved > 0) log.info({ moved, rules }, 'scheduled messages moved to new time zone rules')
    return moved
  }
