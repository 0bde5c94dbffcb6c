/**
 * The registry for development, and for everything that test-mode keys register. It approves a complete registration
 * at the next poll and rejects an incomplete one, unless the development tools make it report something else.
 */
import { randomInt } from 'node:crypto'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import {
  type NumberType,
  type RegistrationEntry,
  type RegistrationFields,
  RegistryFault,
  type RegistryReport,
  type SmsRegistry,
} from './sms-registry.ts'
import { deleteSimulated, findSimulated, type SimulatedRow, writeSimulated } from './store.ts'

/** The id with which the development tools switch the whole registry off. */
export const wholeRegistry = '*'

/** Where the values of a submission are remembered, apart from what the development tools set for the row. */
const submissionOf = (id: string): string => `submission ${id}`

export const testPrefix = 'test-reg-'

const providerIdOf = (environment: Environment, prefix: string, id: string): string =>
  `${environment === 'test' ? testPrefix : prefix}${id.slice(id.indexOf('_') + 1)}`

/** Numbers from 555-0100 to 555-0199 are reserved for fiction in every area code. */
const areaCodes: Record<NumberType, readonly string[]> = {
  longcode: ['206', '212', '303', '312', '415', '512', '617', '702'],
  tollfree: ['800', '833', '844', '855', '866', '877', '888'],
}

export const simulatedNumber = (type: NumberType): string => {
  const codes = areaCodes[type]
  return `+1${codes[randomInt(codes.length)]}55501${String(randomInt(100)).padStart(2, '0')}`
}

const simulatedCapabilities = ['sms', 'mms']

/** The fields that a brand requires, by their names in the API. */
const ofEveryBrand = [
  'email',
  'country',
  'website',
  'vertical',
  'street',
  'city',
  'state_region',
  'postal_code',
  'contact_first_name',
  'contact_last_name',
  'contact_phone',
]

const requiredOfBrand = ({ entity_type }: RegistrationFields): string[] => [
  ...ofEveryBrand,
  ...(entity_type === 'sole_proprietor' ? [] : ['ein']),
  ...(entity_type === 'public_profit' ? ['stock_symbol', 'stock_exchange'] : []),
]

const requiredOf = ({ form, fields }: RegistrationEntry): string[] => {
  if (form === 'brand') return requiredOfBrand(fields)
  return form === 'tollfree' ? ['opt_in_evidence_url'] : []
}

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === ''

const missingInSimulation = (entry: RegistrationEntry): string[] =>
  requiredOf(entry).filter((name) => isBlank(entry.fields[name]))

type Wording = { review: string; approved: string; rejected: string }
const ofRegistration: Wording = { review: 'REVIEWING', approved: 'COMPLETE', rejected: 'REQUIRES_UPDATES' }
const ofNumber: Wording = { review: 'PENDING', approved: 'ACTIVE', rejected: 'DELETED' }

const incomplete = (missing: readonly string[]): string => `Required fields are missing: ${missing.join(', ')}.`

const reportOf = ({ status, missing_fields, reason }: SimulatedRow, wording: Wording): RegistryReport => {
  const missing = missing_fields ?? []
  const known = missing_fields === null ? {} : { missing }
  if (status === 'submitted') return { verdict: 'review', status: wording.review, reason: null, ...known }
  if (status === 'approved' || (status === 'received' && missing.length === 0)) {
    return { verdict: 'approved', status: wording.approved, reason: null, ...known }
  }
  const why = reason ?? (missing.length > 0 ? incomplete(missing) : 'The registry rejected the registration.')
  return { verdict: 'rejected', status: wording.rejected, reason: why, ...known }
}

const nothingReceived: SimulatedRow = { id: '', status: 'received', missing_fields: null, reason: null }

type Needs = { db: Db; clock: Clock }

export const makeLocalRegistry = ({ db, clock }: Needs): SmsRegistry => {
  /** Throws while the registry, or its answer about this row, is switched off. */
  const reach = async (id: string) => {
    const rows = await db.rows(findSimulated, { ids: [wholeRegistry, id, submissionOf(id)] })
    const find = (key: string) => rows.find((row) => row.id === key)
    if ([find(wholeRegistry), find(id)].some((row) => row?.status === 'unreachable')) {
      throw new RegistryFault('unavailable', 'The registry is unreachable.')
    }
    return { set: find(id), received: find(submissionOf(id)) }
  }

  const receive = async (entry: RegistrationEntry) => {
    const missing = missingInSimulation(entry)
    const id = submissionOf(entry.id)
    await db.change(writeSimulated, { id, status: 'received', missingFields: missing, reason: null, at: clock.now() })
    return { status: 'SUBMITTED', missing }
  }

  const read = async (id: string, wording: Wording): Promise<RegistryReport> => {
    const { set, received } = await reach(id)
    return reportOf(set ?? received ?? nothingReceived, wording)
  }

  const forget = async (id: string): Promise<void> => {
    await reach(id)
    await db.change(deleteSimulated, { ids: [id, submissionOf(id)] })
  }

  return {
    name: 'local',
    open: async ({ id, environment }) => {
      await reach(id)
      return providerIdOf(environment, 'registration-', id)
    },
    submit: async (entry) => {
      await reach(entry.id)
      return receive(entry)
    },
    correct: async (entry) => {
      const { set, received } = await reach(entry.id)
      if (reportOf(set ?? received ?? nothingReceived, ofRegistration).verdict !== 'rejected') return undefined
      const submission = await receive(entry)
      // A new submission is reviewed anew.
      await db.change(deleteSimulated, { ids: [entry.id] })
      return submission
    },
    readRegistration: ({ id }) => read(id, ofRegistration),
    removeRegistration: ({ id }) => forget(id),
    provision: async ({ id, environment, type }) => {
      await reach(id)
      return {
        providerId: providerIdOf(environment, 'phone-', id),
        e164: simulatedNumber(type),
        status: ofNumber.review,
        capabilities: simulatedCapabilities,
      }
    },
    bind: async ({ id }) => {
      await reach(id)
    },
    readNumber: ({ id }) => read(id, ofNumber),
    release: ({ id }) => forget(id),
    readSenderId: async (id) => {
      const { set } = await reach(id)
      return set && reportOf(set, ofNumber)
    },
    close: async () => undefined,
  }
}
