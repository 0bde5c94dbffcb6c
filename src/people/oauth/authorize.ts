/** Checks a client's request for authorization, and keeps it until the person decides. */
import { randomBytes } from 'node:crypto'
import type { ScopeName } from '../../customers/keys/scopes.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { isId } from '../../platform/ground/ids.ts'
import { grantableScopes, readScopes } from './grantable.ts'
import { OAuthFault } from './oauth-error.ts'
import { isRegisteredUri, withParameters } from './redirect-uri.ts'
import { type ClientRow, findClient } from './store/client-rows.ts'
import { insertRequest, trimRequests } from './store/request-rows.ts'

/** The values of each parameter, as often as it was given. */
export type GivenParameters = Record<string, string[]>

type AuthorizationRequest = {
  clientId: string
  redirectUri: string
  state: string | null
  scopes: ScopeName[]
  codeChallenge: string
}

/** A request that cannot be sent back to its client, because the client or its address is not known. */
export class UnknownClientFault extends Error {}

/** A request that its client learns the refusal of: `location` is the address of the client with the error. */
export class RefusedRequestFault extends Error {
  readonly location: string

  constructor(location: string) {
    super('refused authorization request')
    this.location = location
  }
}

const requestMs = 600_000
const keptPerPerson = 20
const maxState = 2_000
const maxScope = 4_000

const single = (given: GivenParameters, name: string): string | undefined => {
  const values = given[name] ?? []
  if (values.length > 1) throw new OAuthFault('invalid_request', `${name} is given more than once.`)
  return values[0] === '' ? undefined : values[0]
}

const challengeOf = (given: GivenParameters): string => {
  const challenge = single(given, 'code_challenge')
  if (challenge === undefined) throw new OAuthFault('invalid_request', 'code_challenge is required.')
  if (single(given, 'code_challenge_method') !== 'S256') {
    throw new OAuthFault('invalid_request', 'code_challenge_method must be S256.')
  }
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new OAuthFault('invalid_request', 'code_challenge must be a SHA-256 hash in base64url.')
  }
  return challenge
}

/** Null without a state. Undefined if it cannot be kept. */
const stateOf = ({ state = [] }: GivenParameters): string | null | undefined => {
  const [only = null, ...others] = state
  return others.length > 0 || (only ?? '').length > maxState || only?.includes('\0') ? undefined : only
}

/** A request without a scope asks for everything that can be granted. The person then chooses. */
const scopesOf = (given: GivenParameters): ScopeName[] => {
  const text = single(given, 'scope')
  if (text === undefined) return [...grantableScopes]
  const scopes = text.length > maxScope ? [] : readScopes(text)
  if (scopes.length === 0) throw new OAuthFault('invalid_scope', 'None of the requested scopes can be granted.')
  return scopes
}

/** The parts of the service that a client can name as the resource of its tokens. */
const resourcePaths = new Set(['', '/', '/api', '/api/v1', '/api/mcp'])

/** A token works everywhere in this service, so a resource only has to be a part of it. */
export const checkResources = (baseUrl: string, resources: readonly string[]): void => {
  const known = resources.every((resource) => {
    if (!resource.startsWith(baseUrl)) return false
    return resourcePaths.has(resource.slice(baseUrl.length).replace(/(?<=.)\/$/, ''))
  })
  if (!known) throw new OAuthFault('invalid_target', 'The resource is not served here.')
}

export const makeAuthorize = ({ db, clock, baseUrl }: StoreNeeds & { baseUrl: () => string }) => {
  const findReturn = async (given: GivenParameters): Promise<{ client: ClientRow; redirectUri: string }> => {
    const [clientId, ...otherClients] = given.client_id ?? []
    const [redirectUri, ...otherUris] = given.redirect_uri ?? []
    if (!clientId || !isId('oauthClient', clientId) || otherClients.length > 0)
      throw new UnknownClientFault('client_id')
    const client = await db.row(findClient, { id: clientId })
    if (!client) throw new UnknownClientFault('client_id')
    const only = client.redirect_uris.length === 1 ? client.redirect_uris[0] : undefined
    const chosen = redirectUri ?? only
    if (!chosen || otherUris.length > 0 || !isRegisteredUri(client.redirect_uris, chosen)) {
      throw new UnknownClientFault('redirect_uri')
    }
    return { client, redirectUri: chosen }
  }

  const refusal = (redirectUri: string, state: string | null, { code, message }: OAuthFault) =>
    withParameters(redirectUri, { error: code, error_description: message, state, iss: baseUrl() })

  const read = (given: GivenParameters): Omit<AuthorizationRequest, 'clientId' | 'redirectUri' | 'state'> => {
    if (single(given, 'response_type') !== 'code') {
      throw new OAuthFault('unsupported_response_type', 'response_type must be code.')
    }
    const codeChallenge = challengeOf(given)
    checkResources(baseUrl(), given.resource ?? [])
    return { codeChallenge, scopes: scopesOf(given) }
  }

  return {
    /** Throws UnknownClientFault or RefusedRequestFault. */
    check: async (given: GivenParameters) => {
      const { client, redirectUri } = await findReturn(given)
      const state = stateOf(given)
      try {
        if (state === undefined) throw new OAuthFault('invalid_request', 'state is given more than once or is invalid.')
        return { clientId: client.id, redirectUri, state, ...read(given) }
      } catch (error) {
        if (!(error instanceof OAuthFault)) throw error
        throw new RefusedRequestFault(refusal(redirectUri, state ?? null, error))
      }
    },
    /** Keeps the request for the person who opened it. Returns the id that the consent page reads it by. */
    begin: async (userId: string, request: AuthorizationRequest) => {
      const id = randomBytes(32).toString('base64url')
      const at = clock.now()
      await db.change(insertRequest, { ...request, userId, id, at, expiresAt: new Date(at.getTime() + requestMs) })
      await db.change(trimRequests, { userId, kept: keptPerPerson })
      return id
    },
    /** The address of the client with the error of a refusal. */
    refusal,
  }
}

export type Authorize = ReturnType<typeof makeAuthorize>
