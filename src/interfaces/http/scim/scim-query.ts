/** The query parameters of SCIM: pages, filters, and which attributes a response has. */
import { z } from 'zod'
import type { ScimPage } from '../../../people/scim/page-and-version.ts'
import { invalidScimValue } from '../../../people/scim/scim-fault.ts'
import { type Condition, plainAttribute, readFilter } from '../../../people/scim/scim-filter.ts'
import type { Shown } from './shown-directory.ts'

export const ScimQuery = z.record(z.string(), z.string())
export type ScimQuery = z.output<typeof ScimQuery>

export const maxCount = 200
const defaultCount = 100
/** PostgreSQL counts offsets in 64 bits, JavaScript in 53. */
const maxStart = 1_000_000_000
const maxAttributes = 2_000

const readInteger = (text: string | undefined, name: string, fallback: number): number => {
  if (text === undefined || text === '') return fallback
  if (!/^[+-]?\d{1,15}$/.test(text)) throw invalidScimValue(`${name} must be a whole number.`)
  return Number(text)
}

/** A number that is too small or too large is taken as the nearest that is allowed (RFC 7644, section 3.4.2.4). */
export const readScimPage = (query: ScimQuery): ScimPage => ({
  startIndex: Math.min(maxStart, Math.max(1, readInteger(query.startIndex, 'startIndex', 1))),
  count: Math.min(maxCount, Math.max(0, readInteger(query.count, 'count', defaultCount))),
})

export const readFilterOf = ({ filter }: ScimQuery): Condition[] =>
  filter === undefined || filter === '' ? [] : readFilter(filter)

const namesIn = (text: string | undefined, name: string): Set<string> | undefined => {
  if (text === undefined || text === '') return undefined
  if (text.length > maxAttributes) throw invalidScimValue(`${name} must be at most ${maxAttributes} characters.`)
  return new Set(text.split(',').map((one) => plainAttribute(one.trim()).split('.', 1)[0] as string))
}

const always = new Set(['schemas', 'id'])

/** Whether a response shows an attribute. Of `name.givenName`, the whole `name` counts. */
export const makeShows = (query: ScimQuery): ((attribute: string) => boolean) => {
  const only = namesIn(query.attributes, 'attributes')
  const without = namesIn(query.excludedAttributes, 'excludedAttributes')
  return (attribute) => {
    const name = attribute.toLowerCase()
    if (always.has(name)) return true
    return only ? only.has(name) : !without?.has(name)
  }
}

export const project = (resource: Shown, shows: (attribute: string) => boolean): Shown =>
  Object.fromEntries(Object.entries(resource).filter(([attribute]) => shows(attribute)))
