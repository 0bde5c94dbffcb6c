/** The countries that an org allows text messages to. */
import type { Db } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import { andThen } from '../../platform/ground/maybe-promise.ts'
import { callingCodeOf, isCountry } from '../../platform/ground/phone-number.ts'
import { findSmsGeo } from './store.ts'

/** Null allows every country. An empty set allows none. */
export type AllowedCountries = ReadonlySet<string> | null

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
