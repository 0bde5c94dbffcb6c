/** What sign-in expects of Google, GitHub and any other issuer. */

export type ProviderId = 'google' | 'github' | 'oidc'

/** What the browser must bring back unchanged. */
export type Checks = { state: string; nonce: string; verifier: string }

export type ProviderIdentity = {
  issuer: string
  /** The id of the person at the issuer, which never changes. */
  subject: string
  /** Undefined when the provider does not vouch for an address. */
  verifiedEmail: string | undefined
  name: string
}

export interface SignInProvider {
  readonly id: ProviderId
  /** As a button shows it. */
  readonly name: string
  /** The address at the provider where the person signs in. */
  start(redirectUri: string, checks: Checks): Promise<URL>
  /** Exchanges what the provider sent back. Throws ProviderFault. */
  finish(returned: URL, checks: Checks): Promise<ProviderIdentity>
}

/** `denied`: the person or the provider said no. `failed`: anything else. The cause is for the log only. */
export class ProviderFault extends Error {
  readonly kind: 'denied' | 'failed'
  constructor(kind: 'denied' | 'failed', cause: unknown) {
    super(`sign-in at the provider was ${kind}`, { cause })
    this.kind = kind
  }
}

/** Seconds. A provider that does not respond must not hold a request for long. */
export const providerTimeout = 10
