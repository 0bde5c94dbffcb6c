/** Finds the caller of a request by its API key or OAuth token. */
import type { FastifyRequest } from 'fastify'
import type { Admission, Rate } from '../../../customers/admission/admit.ts'
import type { Caller } from '../../../customers/keys/caller.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { andThen, type MaybePromise, orElse } from '../../../platform/ground/maybe-promise.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { currentSelfCall } from '../self-call.ts'

const bearer = /^Bearer +(\S+) *$/i

/** Without `onCount` the request is not counted in the rate buckets. */
export type Authenticate = (
  request: FastifyRequest,
  onCount?: (rate: Rate) => void,
) => MaybePromise<{ caller: Caller; address: string | null }>

type Needs = {
  admission: Pick<Admission, 'pass'>
  proxies: ProxyTrust
  /** The address of this service in its own links. */
  baseUrl: () => string
}

export const makeAuthenticate = ({ admission, proxies, baseUrl }: Needs): Authenticate => {
  /** Where a client learns how to get a token (RFC 9728). The same without a key and with a wrong one. */
  const challenge = (): string => `Bearer resource_metadata="${baseUrl()}/.well-known/oauth-protected-resource"`

  const withChallenge = (error: unknown): never => {
    if (!(error instanceof Failure && error.code === 'UNAUTHORIZED')) throw error
    throw new Failure('UNAUTHORIZED', { headers: { 'www-authenticate': challenge() } })
  }

  return (request, onCount) => {
    const selfCall = currentSelfCall()
    const address = selfCall ? selfCall.address : callerAddress(request.raw, proxies)
    const key = request.headers.authorization?.match(bearer)?.[1]
    const passing = orElse(() => admission.pass({ key, address, onCount }), withChallenge)
    return andThen(passing, (caller) => ({ caller, address }))
  }
}
