/** The interface between SMS senders and the registry that approves brands and campaigns and provides numbers. */
import type { Environment } from '../../platform/ground/scope.ts'

export type RegistrationFields = Readonly<Record<string, unknown>>

/** What the registry needs to know about a brand or a campaign. */
export type RegistrationEntry = {
  /** The id of our row. It identifies every attempt to register it. */
  id: string
  environment: Environment
  /** By the names of the API. */
  fields: RegistrationFields
} & (
  | { form: 'brand' }
  | { form: '10dlc' | 'tollfree'; brand: { providerId: string | null; fields: RegistrationFields } }
)

export type Submitted = {
  /** The status as the registry names it. */
  status: string
  /** The fields that the registry requires and did not get. Null when its list of fields could not be read. */
  missing: string[] | null
}

/** A row of ours that the registry knows by its own id. */
type RegistryRef = { id: string; providerId: string }

export type RegistryReport = {
  /** `gone`: the registry no longer has it. */
  verdict: 'approved' | 'review' | 'rejected' | 'gone'
  status: string
  reason: string | null
  /** Absent when the report says nothing about fields. */
  missing?: string[]
}

export type NumberType = 'longcode' | 'tollfree'

export type NumberRequest = {
  id: string
  environment: Environment
  type: NumberType
  isoCountry: string
  campaign: { id: string; providerId: string }
  messageType: 'transactional' | 'promotional'
}

export type ProvisionedNumber = { providerId: string; e164: string; status: string; capabilities: string[] }

/** Every function throws only RegistryFault. */
export interface SmsRegistry {
  readonly name: 'local' | 'aws'
  /** Opens a registration and returns its id. A repeated call for the same row returns the same id where possible. */
  open(entry: RegistrationEntry): Promise<string>
  /** Fills in the registration and submits it. A registration that was submitted before is left alone. */
  submit(entry: RegistrationEntry, providerId: string): Promise<Submitted>
  /** Replaces the values and submits again. Undefined when the registry takes no changes now. */
  correct(entry: RegistrationEntry, providerId: string): Promise<Submitted | undefined>
  readRegistration(ref: RegistryRef): Promise<RegistryReport>
  /** Has no effect when the registry no longer has it. */
  removeRegistration(ref: RegistryRef): Promise<void>
  provision(request: NumberRequest): Promise<ProvisionedNumber>
  /** Moves a number to another campaign. */
  bind(ref: RegistryRef, campaign: { id: string; providerId: string }): Promise<void>
  readNumber(ref: RegistryRef): Promise<RegistryReport>
  release(ref: RegistryRef): Promise<void>
  /** Undefined when the registry has nothing to report about a sender id, which needs no approval. */
  readSenderId(id: string): Promise<RegistryReport | undefined>
  close(): Promise<void>
}

/** `unavailable`: a later attempt may succeed. `refused`: the registry rejected the request. */
export class RegistryFault extends Error {
  readonly kind: 'unavailable' | 'refused'

  /** The message is shown to the caller, so it must not contain secrets. */
  constructor(kind: RegistryFault['kind'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}
