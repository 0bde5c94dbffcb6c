/** Fills in and submits a registration form of AWS End User Messaging. */
import { setTimeout as pause } from 'node:timers/promises'
import type { FieldType, RegistrationFieldDefinition } from '@aws-sdk/client-pinpoint-sms-voice-v2'
import type { Log } from '../../platform/ground/log.ts'
import type { AwsCalls } from '../aws-clients.ts'
import { expecting } from '../expected-errors.ts'
import { missingFields, optionFor } from './aws-field-rules.ts'
import { type FieldValue, fieldValuesOf, registrationTypes } from './aws-field-values.ts'
import { isRefused } from './aws-registry-faults.ts'
import { type RegistrationEntry, RegistryFault, type Submitted } from './sms-registry.ts'

/** Fetches a file that a customer published. Undefined when it cannot be fetched. */
export type FetchFile = (url: string) => Promise<Uint8Array | undefined>

type Needs = {
  calls: AwsCalls
  log: Log
  fetchFile: FetchFile
  wait?: (milliseconds: number) => Promise<unknown>
}

const fieldTypes: Record<FieldValue['as'], FieldType> = { text: 'TEXT', choice: 'SELECT', file: 'ATTACHMENT' }
const uploadChecks = 10

/** Definitions by path. */
type Form = ReadonlyMap<string, RegistrationFieldDefinition>

export const makeAwsForm = ({ calls: { call }, log, fetchFile, wait = pause }: Needs) => {
  const readForm = async (entry: RegistrationEntry): Promise<Form | null> => {
    const list: RegistrationFieldDefinition[] = []
    let next: string | undefined
    try {
      do {
        const page = await call((client) =>
          client.describeRegistrationFieldDefinitions({
            RegistrationType: registrationTypes[entry.form],
            NextToken: next,
          }),
        )
        list.push(...(page.RegistrationFieldDefinitions ?? []))
        next = page.NextToken
      } while (next !== undefined)
      return new Map(list.map((field) => [field.FieldPath ?? '', field]))
    } catch (error) {
      if (!(error instanceof RegistryFault)) throw error
      log.warn({ err: error, registration_id: entry.id }, 'registration form unreadable')
      return null
    }
  }

  /** Undefined when the file cannot be fetched or the registry does not take it. */
  const upload = async (entry: RegistrationEntry, url: string): Promise<string | undefined> => {
    const body = await fetchFile(url)
    if (!body) return undefined
    const made = await call((client) => client.createRegistrationAttachment({ AttachmentBody: body }))
    const id = made.RegistrationAttachmentId as string
    let status = made.AttachmentStatus
    for (let i = 0; status === 'UPLOAD_IN_PROGRESS' && i < uploadChecks; i++) {
      await wait(500)
      const read = await call((client) => client.describeRegistrationAttachments({ RegistrationAttachmentIds: [id] }))
      status = read.RegistrationAttachments?.[0]?.AttachmentStatus
    }
    if (status === 'UPLOAD_COMPLETE') return id
    log.warn({ registration_id: entry.id, status }, 'registration attachment not uploaded')
    return undefined
  }

  const valueFor = async (
    entry: RegistrationEntry,
    { value, as }: FieldValue,
    definition: RegistrationFieldDefinition | undefined,
  ) => {
    const type = definition?.FieldType ?? fieldTypes[as]
    if (type === 'SELECT') return { SelectChoices: [optionFor(definition, value)] }
    if (type !== 'ATTACHMENT') return { TextValue: value }
    const id = await upload(entry, value)
    return id === undefined ? undefined : { RegistrationAttachmentId: id }
  }

  /** Undefined when the registry refuses it, which is logged with these fields. */
  const unlessRefused = <T>(work: Promise<T>, fields: Record<string, string>, message: string) =>
    expecting(isRefused, work, (err) => log.warn({ err, ...fields }, message))

  /** Returns the value as it was sent. Undefined when the registry does not take it, which makes the field missing. */
  const put = async (entry: RegistrationEntry, providerId: string, field: FieldValue, form: Form | null) => {
    const { path, value } = field
    const sent = await valueFor(entry, field, form?.get(path))
    if (!sent) return undefined
    await call((client) => client.putRegistrationFieldValue({ RegistrationId: providerId, FieldPath: path, ...sent }))
    return sent.SelectChoices?.[0] ?? value
  }

  /** A campaign is submitted only with its brand. A repeated association is refused, which is fine. */
  const associate = async (entry: RegistrationEntry, providerId: string): Promise<void> => {
    if (entry.form !== '10dlc' || entry.brand.providerId === null) return
    const association = { RegistrationId: providerId, ResourceId: entry.brand.providerId }
    await unlessRefused(
      call((client) => client.createRegistrationAssociation(association)),
      { registration_id: entry.id },
      'registration association refused',
    )
  }

  /** Values that the form has no field for are left out. */
  const valuesIn = (form: Form | null, entry: RegistrationEntry): FieldValue[] =>
    fieldValuesOf(entry).filter(({ path }) => form?.has(path) ?? true)

  return {
    /** The fields that the form requires and the entry lacks. Null when the form could not be read. */
    missing: async (entry: RegistrationEntry): Promise<string[] | null> => {
      const form = await readForm(entry)
      return form && missingFields(form, new Map(valuesIn(form, entry).map(({ path, value }) => [path, value])))
    },
    /** Sends every value, because a new version of a registration starts empty, and submits. */
    submit: async (entry: RegistrationEntry, providerId: string): Promise<Submitted> => {
      const form = await readForm(entry)
      const given = new Map<string, string>()
      for (const field of valuesIn(form, entry)) {
        const sent = await unlessRefused(
          put(entry, providerId, field, form),
          { registration_id: entry.id, field: field.path },
          'registration field refused',
        )
        if (sent !== undefined) given.set(field.path, sent)
      }
      await associate(entry, providerId)
      const missing = form && missingFields(form, given)
      const submitted = await unlessRefused(
        call((client) => client.submitRegistrationVersion({ RegistrationId: providerId })),
        { registration_id: entry.id },
        'registration submission refused',
      )
      // Without a submission the draft stays, and a correction can complete it.
      return { status: submitted ? (submitted.RegistrationVersionStatus ?? 'SUBMITTED') : 'CREATED', missing }
    },
  }
}
