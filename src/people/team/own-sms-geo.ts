/** The countries of text messages, as the owners of an org set them. */
import { type ChangeSmsGeo, countriesOf, readCountries } from '../../customers/orgs/sms-geo.ts'
import { findOwnSmsGeo } from '../../customers/orgs/store.ts'
import type { UserActor } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { asOwner } from './change-team.ts'

export type OwnCountries = { countries: string[] | null; updatedAt: Date | null; updatedBy: string | null }

const known = (given: string[]): string[] => {
  const read = readCountries(given)
  if ('countries' in read) return read.countries
  throw new Failure('VALIDATION_ERROR', { flatMessage: `Unknown country code: ${read.unknown[0]}` })
}

export const makeOwnSmsGeo = ({ db, changeSmsGeo }: { db: Db; changeSmsGeo: ChangeSmsGeo }) => {
  const read = async (from: Pick<Db, 'row'>, orgId: string): Promise<OwnCountries> => {
    const row = await orNotFound(from.row(findOwnSmsGeo, { orgId }))
    return {
      countries: countriesOf(row.sms_geo),
      updatedAt: row.sms_geo_updated_at,
      updatedBy: row.sms_geo_updated_by,
    }
  }
  return {
    read: (orgId: string) => read(db, orgId),
    /** Null allows every country, an empty list none. */
    change: async (orgId: string, actor: UserActor, given: string[] | null) => {
      const countries = given === null ? null : known(given)
      return asOwner(db, orgId, actor, async (tx) => {
        await changeSmsGeo(tx, { orgId, actor, countries })
        return read(tx, orgId)
      })
    },
  }
}

export type OwnSmsGeo = ReturnType<typeof makeOwnSmsGeo>
