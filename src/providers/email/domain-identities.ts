/** The interface to a provider that has to know a domain before it sends mail from it. */

export type IdentityRef = { name: string; region: string }

export type NewIdentity = IdentityRef & {
  selector: string
  /** PEM, PKCS #8. */
  privateKey: string
  /** The host that the provider uses as the envelope sender, once its records are published. */
  returnHost: string
}

export type IdentityState = {
  dkim: 'PENDING' | 'SUCCESS' | 'FAILED' | 'TEMPORARY_FAILURE' | 'NOT_STARTED'
  /** The selectors that the provider signs with. */
  selectors: string[]
}

/**
 * `unavailable`: the provider cannot be reached, is overloaded or does not work.
 * `forbidden`: the credentials are missing or do not allow the call.
 * `empty`: the provider returned nothing usable.
 * `refused`: the provider rejected the domain.
 */
export class IdentityFault extends Error {
  readonly kind: 'unavailable' | 'forbidden' | 'empty' | 'refused'

  /** The message is shown to callers, so it must not contain anything about the account. */
  constructor(kind: IdentityFault['kind'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}

/** Every method throws only IdentityFault. */
export interface DomainIdentities {
  /** `exists` leaves an identity that the provider already has unchanged. After an error, nothing is left behind. */
  create(identity: NewIdentity): Promise<'created' | 'exists'>
  /** Undefined when the provider does not have the identity in that region. */
  read(ref: IdentityRef): Promise<IdentityState | undefined>
  /** Signs with this key from now on. */
  setKey(identity: Omit<NewIdentity, 'returnHost'>): Promise<void>
  /** Removing an identity that does not exist succeeds. */
  remove(ref: IdentityRef): Promise<void>
  close(): Promise<void>
}
