/** What the service stores about a person, for that person. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecordPersonal } from '../../customers/accounts/personal-audit.ts'
import type { UserActor } from '../../journal/audit/append.ts'
import { shownEntry } from '../../journal/audit/shown-entry.ts'
import type { ListedEntry } from '../../journal/audit/store/list-rows.ts'
import { countBackupCodes } from '../../people/signin/store/factor-rows.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import { takeOne } from './export-limits.ts'
import {
  authoredEntries,
  listOwnMemberships,
  listOwnSessions,
  type OwnProfile,
  readOwnProfile,
} from './store/personal-rows.ts'

const maxEntries = 10_000
const slice = 500

/** The parts of one JSON document. */
export type PersonalExport = (actor: UserActor, activeOrgId: string | null) => Promise<AsyncIterable<string>>

type Needs = {
  db: Db
  clock: Clock
  limiter: Limiter | undefined
  recordPersonal: RecordPersonal
  /** The ids of sign-in providers by their issuers. */
  providerIds: ReadonlyMap<string, string>
}

const shownOwnEntry = (row: ListedEntry) => {
  const { actorUserId: _, ...entry } = shownEntry(row)
  return entry
}

/** Ten thousand entries at once would pause the process. */
async function* documentOf(head: object, rows: ListedEntry[], tail: object): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"audit_entries":[`
  for (let from = 0; from < rows.length; from += slice) {
    const lines = rows.slice(from, from + slice).map((row) => JSON.stringify(shownOwnEntry(row)))
    yield `${from === 0 ? '' : ','}${lines.join(',')}`
    await nextTurn()
  }
  yield `],${JSON.stringify(tail).slice(1)}`
}

export const makePersonalExport = ({ db, clock, limiter, recordPersonal, providerIds }: Needs): PersonalExport => {
  const shownProfile = ({ totp_enabled_at: _, issuers, ...profile }: OwnProfile) => ({
    ...profile,
    linked_providers: issuers.map((issuer) => providerIds.get(issuer) ?? issuer),
  })

  return async (actor, activeOrgId) => {
    const { userId } = actor
    const profile = await db.row(readOwnProfile, { userId })
    if (!profile) throw new Failure('UNAUTHORIZED')
    await takeOne({ limiter, clock }, { name: `{${userId}}:data-exports`, limit: 5, windowMs: hourMs })
    const [memberships, sessions, codes, entries] = await Promise.all([
      db.rows(listOwnMemberships, { userId }),
      db.rows(listOwnSessions, { userId }),
      db.row(countBackupCodes, { userId }),
      db.rows(authoredEntries, { userId, limit: maxEntries + 1 }),
    ])
    await db.tx((tx) => recordPersonal(tx, activeOrgId, { userId, actor, action: 'user.data_exported' }))
    const enabledAt = profile.totp_enabled_at
    const head = {
      generated_at: clock.now(),
      profile: shownProfile(profile),
      memberships,
      sessions,
      two_factor: { enabled: enabledAt !== null, enabled_at: enabledAt, backup_codes_left: codes?.left ?? 0 },
    }
    return documentOf(head, entries.slice(0, maxEntries), { audit_entries_truncated: entries.length > maxEntries })
  }
}
