/** `tidings ops org sms-geo`: sets the countries that an org may send text messages to. */
import { isCountry } from '../ground/phone-number.ts'
import { setSmsGeo } from '../orgs/store.ts'
import { Fault } from './command-fault.ts'
import { type Context, existing, opsUsage, print, required } from './ops-context.ts'

/** The stored form: null allows every country, an empty text none. */
const storedGeo = (given: string | undefined): string | null => {
  if (given === undefined || given.trim() === '') throw new Fault(`Countries are required.\n\n${opsUsage}`)
  if (given === 'any') return null
  if (given === 'none') return ''
  const countries = [...new Set(given.split(',').map((country) => country.trim().toUpperCase()))].sort()
  const unknown = countries.filter((country) => !isCountry(country))
  if (unknown.length > 0) throw new Fault(`Unknown country: ${unknown.join(', ')}. Use codes such as US,GB.`)
  return countries.join(',')
}

/** Any text: a list that was changed by hand may not be readable. */
const listOf = (stored: string | null): string[] | null => {
  if (stored === null) return null
  return stored === '' ? [] : stored.split(',')
}

const textOf = (orgId: string, countries: string[] | null): string => {
  if (countries === null) return `${orgId} may send SMS to every country.`
  return countries.length === 0 ? `${orgId} may not send SMS.` : `${orgId} may send SMS to ${countries.join(', ')}.`
}

export const changeSmsGeo = async (context: Context, orgId: string, given: string | undefined): Promise<void> => {
  const { db, clock, audit, options } = context
  const operator = required(options, 'operator')
  const geo = storedGeo(given)
  await existing(db, orgId)
  const countries = listOf(geo)
  await db.tx(async (tx) => {
    const changed = await tx.row(setSmsGeo, { orgId, geo, at: clock.now() })
    if (!changed) throw new Fault(`Org ${orgId} does not exist.`)
    if (changed.former === geo) return
    const entry = { orgId, actor: { kind: 'system' }, resourceType: 'org', resourceId: orgId } as const
    const metadata = { old: listOf(changed.former), new: countries, operator }
    await audit(tx, { ...entry, action: 'org.sms_geo_updated', metadata })
  })
  print(context, { id: orgId, sms_geo: countries }, textOf(orgId, countries))
}
