/** Registers senders with AWS End User Messaging. */
import type { RegistrationInformation } from '@aws-sdk/client-pinpoint-sms-voice-v2'
import type { Log } from '../../platform/ground/log.ts'
import { type AwsMessagingNeeds, makeAwsCalls } from '../aws-clients.ts'
import { expecting } from '../expected-errors.ts'
import { registrationTypes } from './aws-field-values.ts'
import { type FetchFile, makeAwsForm } from './aws-form.ts'
import { isNotFound, isRefused, registryFaultOf } from './aws-registry-faults.ts'
import { RegistryFault, type RegistryReport, type SmsRegistry } from './sms-registry.ts'

type Needs = AwsMessagingNeeds & {
  log: Log
  fetchFile: FetchFile
  wait?: (milliseconds: number) => Promise<unknown>
  attempts?: number
}

const notThere: RegistryReport = {
  verdict: 'gone',
  status: 'DELETED',
  reason: 'The registry no longer has it.',
}

/** The longest reason that a row stores. */
const longestReason = 2_000

export const makeAwsRegistry = ({ log, fetchFile, wait, attempts = 3, ...connection }: Needs): SmsRegistry => {
  // Every call can be repeated: what creates something carries a token of its row.
  const calls = makeAwsCalls(connection, attempts, registryFaultOf)
  const { call } = calls
  const form = makeAwsForm({ calls, log, fetchFile, ...(wait && { wait }) })

  /** Undefined when the registry does not have it. */
  const describe = async (providerId: string): Promise<RegistrationInformation | undefined> => {
    const described = call((client) => client.describeRegistrations({ RegistrationIds: [providerId] }))
    return (await expecting(isNotFound, described))?.Registrations?.[0]
  }

  const denialOf = async (providerId: string, version: number | undefined): Promise<string> => {
    const VersionNumbers = version === undefined ? undefined : [version]
    const { RegistrationVersions } = await call((client) =>
      client.describeRegistrationVersions({ RegistrationId: providerId, VersionNumbers }),
    )
    const { DeniedReasons = [], Feedback } = RegistrationVersions?.[0] ?? {}
    const reasons = DeniedReasons.map(({ ShortDescription, LongDescription }) => LongDescription ?? ShortDescription)
    const text = [...reasons, Feedback].filter((reason) => reason).join(' ')
    return (text || 'The registry rejected the registration.').slice(0, longestReason)
  }

  /** Opens a new version, after discarding a draft that an interrupted correction left. */
  const openVersion = async (providerId: string): Promise<void> => {
    const open = () => call((client) => client.createRegistrationVersion({ RegistrationId: providerId }))
    if (await expecting(isRefused, open())) return
    await call((client) => client.discardRegistrationVersion({ RegistrationId: providerId }))
    await open()
  }

  return {
    name: 'aws',
    open: async (entry) => {
      const { RegistrationId } = await call((client) =>
        client.createRegistration({
          RegistrationType: registrationTypes[entry.form],
          ClientToken: entry.id,
          Tags: [{ Key: 'tidings-id', Value: entry.id }],
        }),
      )
      if (!RegistrationId) throw new RegistryFault('unavailable', 'AWS End User Messaging returned no registration.')
      return RegistrationId
    },
    submit: async (entry, providerId) => {
      const status = (await describe(providerId))?.RegistrationStatus
      // An earlier attempt submitted it, and only its response was lost.
      if (status !== undefined && status !== 'CREATED') return { status, missing: await form.missing(entry) }
      return form.submit(entry, providerId)
    },
    correct: async (entry, providerId) => {
      const status = (await describe(providerId))?.RegistrationStatus
      if (status !== 'CREATED' && status !== 'REQUIRES_UPDATES') return undefined
      if (status === 'REQUIRES_UPDATES') await openVersion(providerId)
      return form.submit(entry, providerId)
    },
    readRegistration: async ({ providerId }) => {
      const found = await describe(providerId)
      const status = found?.RegistrationStatus
      switch (status) {
        case undefined:
        case 'DELETED':
          return notThere
        case 'CLOSED':
          return { ...notThere, status, reason: 'The registry closed the registration.' }
        case 'COMPLETE':
          return { verdict: 'approved', status, reason: null }
        case 'CREATED':
          return { verdict: 'rejected', status, reason: 'The registry did not accept the submission.' }
        case 'REQUIRES_UPDATES': {
          const version = found?.LatestDeniedVersionNumber ?? found?.CurrentVersionNumber
          return { verdict: 'rejected', status, reason: await denialOf(providerId, version) }
        }
        default:
          return { verdict: 'review', status, reason: null }
      }
    },
    removeRegistration: async ({ id, providerId }) => {
      const removed = call((client) => client.deleteRegistration({ RegistrationId: providerId }))
      await expecting(isRefused, removed, (err) => {
        // Under review it cannot be deleted. It stays without effect, and the row can still be deleted.
        if (!isNotFound(err)) log.warn({ err, registration_id: id, providerId }, 'registration left behind')
      })
    },
    provision: async ({ id, type, isoCountry, campaign, messageType }) => {
      const number = await call((client) =>
        client.requestPhoneNumber({
          IsoCountryCode: isoCountry,
          MessageType: messageType === 'promotional' ? 'PROMOTIONAL' : 'TRANSACTIONAL',
          NumberCapabilities: ['SMS', 'MMS'],
          NumberType: type === 'tollfree' ? 'TOLL_FREE' : 'TEN_DLC',
          RegistrationId: campaign.providerId,
          ClientToken: id,
          Tags: [{ Key: 'tidings-id', Value: id }],
        }),
      )
      const { PhoneNumberId, PhoneNumber, Status = 'PENDING', NumberCapabilities = ['SMS'] } = number
      if (!PhoneNumberId || !PhoneNumber) {
        throw new RegistryFault('unavailable', 'AWS End User Messaging returned no number.')
      }
      const capabilities = NumberCapabilities.map((capability) => capability.toLowerCase())
      return { providerId: PhoneNumberId, e164: PhoneNumber, status: Status, capabilities }
    },
    bind: async ({ providerId }, campaign) => {
      const association = { RegistrationId: campaign.providerId, ResourceId: providerId }
      await call((client) => client.createRegistrationAssociation(association))
    },
    readNumber: async ({ providerId }) => {
      const described = call((client) => client.describePhoneNumbers({ PhoneNumberIds: [providerId] }))
      const status = (await expecting(isNotFound, described))?.PhoneNumbers?.[0]?.Status
      if (status === undefined || status === 'DELETED' || status === 'DISASSOCIATING') return notThere
      return { verdict: status === 'ACTIVE' ? 'approved' : 'review', status, reason: null }
    },
    release: async ({ providerId }) => {
      await expecting(
        isNotFound,
        call((client) => client.releasePhoneNumber({ PhoneNumberId: providerId })),
      )
    },
    readSenderId: async () => undefined,
    close: calls.close,
  }
}
