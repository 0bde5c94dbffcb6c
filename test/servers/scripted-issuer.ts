/** An OpenID Connect issuer on loopback whose every endpoint can be made to misbehave. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Endpoint = 'discovery' | 'token' | 'jwks' | 'userinfo'

/** What an endpoint does instead of its work. */
export type Misbehaviour = (response: ServerResponse) => void

export const hang: Misbehaviour = () => {}

/** One byte at a time, for ever. */
export const drip: Misbehaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

/** A body without an end. */
export const endless: Misbehaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const write = (): void => {
    while (!response.destroyed && response.write(' '.repeat(65_536)));
  }
  response.on('drain', write)
  write()
}

export const redirectTo =
  (location: string): Misbehaviour =>
  (response) =>
    response.writeHead(302, { location }).end()

export const respondWith =
  (body: string, status = 200): Misbehaviour =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)

/** Ends the connection in the middle of the body. */
export const breakOff: Misbehaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{')
  setImmediate(() => response.destroy())
}

export type ScriptedIssuer = {
  url: string
  clientId: string
  clientSecret: string
  misbehave: Partial<Record<Endpoint, Misbehaviour>>
  /** Replaces fields of the metadata. */
  metadata: Record<string, unknown>
  /** The claims of the next ID token, over the required ones. */
  claims: Record<string, unknown>
  /** The key that the ID token names. */
  keyId: string
  /** Who signs the ID token: the issuer, someone with a key of their own, or nobody. */
  signedBy: 'issuer' | 'stranger' | 'nobody'
  /** What userinfo answers. Without it, the claims of the ID token. */
  userinfo: Record<string, unknown> | undefined
  /** How often each endpoint was asked. */
  asked: Record<Endpoint, number>
  /** Sets everything back. */
  behave(): void
  stop(): Promise<void>
}

const clientId = 'tidings'
const clientSecret = 'a-secret-of-the-test-client'
const publishedKey = 'published'

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const endpointOf = (path: string | undefined): Endpoint | undefined =>
  path === '/.well-known/openid-configuration' ? 'discovery' : (path?.slice(1) as Endpoint | undefined)

/** `name` is the issuer in its metadata and tokens, instead of its address. */
export const startScriptedIssuer = async (name?: string): Promise<ScriptedIssuer> => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const endpoint = endpointOf(request.url)
    if (endpoint === undefined || !(endpoint in issuer.asked)) return response.writeHead(404).end()
    issuer.asked[endpoint]++
    const misbehaviour = issuer.misbehave[endpoint]
    if (misbehaviour) return misbehaviour(response)
    return respondWith(JSON.stringify(answer(endpoint)))(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ownName = name ?? url

  const idToken = (): string => {
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: ownName, aud: clientId, iat: now, exp: now + 300, sub: randomUUID(), ...issuer.claims }
    if (issuer.signedBy === 'nobody') return `${base64({ alg: 'none' })}.${base64(claims)}.`
    const signed = `${base64({ alg: 'RS256', kid: issuer.keyId })}.${base64(claims)}`
    const key = issuer.signedBy === 'issuer' ? privateKey : stranger.privateKey
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
  }
  const answer = (endpoint: Endpoint): unknown => {
    if (endpoint === 'token') return { access_token: 'x', token_type: 'bearer', expires_in: 300, id_token: idToken() }
    if (endpoint === 'userinfo') return issuer.userinfo ?? issuer.claims
    if (endpoint === 'jwks')
      return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: publishedKey, use: 'sig' }] }
    return {
      issuer: ownName,
      authorization_endpoint: `${ownName}/authorize`,
      token_endpoint: `${ownName}/token`,
      jwks_uri: `${ownName}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      ...issuer.metadata,
    }
  }

  const issuer: ScriptedIssuer = {
    url,
    clientId,
    clientSecret,
    misbehave: {},
    metadata: {},
    claims: {},
    keyId: publishedKey,
    signedBy: 'issuer',
    userinfo: undefined,
    asked: { discovery: 0, token: 0, jwks: 0, userinfo: 0 },
    behave: () => {
      Object.assign(issuer, { misbehave: {}, metadata: {}, claims: {}, keyId: publishedKey })
      Object.assign(issuer, { signedBy: 'issuer', userinfo: undefined })
      issuer.asked = { discovery: 0, token: 0, jwks: 0, userinfo: 0 }
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return issuer
}
