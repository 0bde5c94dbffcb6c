/** `tidings ops org sms-geo`: sets the countries that an org may send text messages to. */
import { makeChangeSmsGeo, readCountries } from '../../customers/orgs/sms-geo.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { type Context, existing, print, required } from './ops-context.ts'
import { opsUsage } from './usage.ts'

const givenCountries = (given: string | undefined): string[] | null => {
  if (given === undefined || given.trim() === '') throw new OperatorFault(`Countries are required.\n\n${opsUsage}`)
  if (given === 'any') return null
  if (given === 'none') return []
  const read = readCountries(given.split(','))
  if ('unknown' in read)
    throw new OperatorFault(`Unknown country: ${read.unknown.join(', ')}. Use codes such as US,GB.`)
  return read.countries
}

const textOf = (orgId: string, countries: string[] | null): string => {
  if (countries === null) return `${orgId} may send SMS to every country.`
  return countries.length === 0 ? `${orgId} may not send SMS.` : `${orgId} may send SMS to ${countries.join(', ')}.`
}

export const changeSmsGeo = async (context: Context, orgId: string, given: string | undefined): Promise<void> => {
  const { db, clock, audit, options } = context
  const operator = required(options, 'operator')
  const countries = givenCountries(given)
  await existing(db, orgId)
  const change = makeChangeSmsGeo({ clock, audit })
  const actor = { kind: 'system' } as const
  const done = await db.tx((tx) => change(tx, { orgId, actor, countries, metadata: { operator } }))
  if (!done) throw new OperatorFault(`Org ${orgId} does not exist.`)
  print(context, { id: orgId, sms_geo: countries }, textOf(orgId, countries))
}
