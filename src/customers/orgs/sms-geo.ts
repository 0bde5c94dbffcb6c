/** The countries that an org allows text messages to. The operator's command and the dashboard change them alike. */
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { andThen } from '../../platform/ground/maybe-promise.ts'
import { callingCodeOf, isCountry } from '../../platform/ground/phone-number.ts'
import { findSmsGeo, setSmsGeo } from './store.ts'

/** Null allows every country. An empty set allows none. */
type AllowedCountries = ReadonlySet<string> | null

/** Reads the stored list. A list that cannot be read counts as not configured. */
export const parseSmsGeo = (stored: string | null): AllowedCountries => {
  if (stored === null) return null
  if (stored === '') return new Set()
  const countries = stored.split(',')
  return countries.every(isCountry) ? new Set(countries) : null
}

/** A shared calling code is allowed when any of its countries is. A number without a known country is not. */
export const isAllowedDestination = (allowed: AllowedCountries, number: string): boolean =>
  allowed === null || (callingCodeOf(number)?.countries.some((country) => allowed.has(country)) ?? false)

export const makeSmsGeo = ({ db, trusted }: { db: Db; trusted: () => boolean }) => {
  const lists = makeShortCache<{ allowed: AllowedCountries }>({ trusted })
  const read = async (orgId: string) => ({
    allowed: parseSmsGeo((await db.row(findSmsGeo, { orgId }))?.sms_geo ?? null),
  })
  return {
    allowedBy: (orgId: string) =>
      andThen(
        lists.through(orgId, orgId, () => read(orgId)),
        ({ allowed }) => allowed,
      ),
    forgetOrg: lists.forgetOrg,
    forgetAll: lists.clear,
  }
}

export type SmsGeo = ReturnType<typeof makeSmsGeo>

/** Upper-case, sorted and without duplicates, or the codes that are no country. */
export const readCountries = (given: string[]): { countries: string[] } | { unknown: string[] } => {
  const countries = [...new Set(given.map((country) => country.trim().toUpperCase()))].sort()
  const unknown = countries.filter((country) => !isCountry(country))
  return unknown.length > 0 ? { unknown } : { countries }
}

/** Any text: a list that was changed by hand may not be readable. Null allows every country, an empty list none. */
export const countriesOf = (stored: string | null): string[] | null => {
  if (stored === null) return null
  return stored === '' ? [] : stored.split(',')
}

type SmsGeoChange = {
  orgId: string
  actor: Extract<Actor, { kind: 'user' | 'system' }>
  /** As `readCountries` returns them. */
  countries: string[] | null
  /** Added to the audit entry, such as the name of the operator. */
  metadata?: Record<string, unknown>
}

/** False if the org does not exist. An unchanged list writes no audit entry. */
export type ChangeSmsGeo = (tx: Tx, change: SmsGeoChange) => Promise<boolean>

export const makeChangeSmsGeo =
  ({ clock, audit, forget }: { clock: Clock; audit: Audit; forget?: (orgId: string) => void }): ChangeSmsGeo =>
  async (tx, { orgId, actor, countries, metadata }) => {
    const geo = countries === null ? null : countries.join(',')
    const userId = actor.kind === 'user' ? actor.userId : null
    const changed = await tx.row(setSmsGeo, { orgId, geo, userId, at: clock.now() })
    if (!changed) return false
    if (changed.former !== geo) {
      const entry = { orgId, actor, resourceType: 'org', resourceId: orgId, action: 'org.sms_geo_updated' } as const
      await audit(tx, { ...entry, metadata: { countries, ...metadata } })
    }
    tx.afterCommit(() => forget?.(orgId))
    return true
  }
