/** Published clients go the whole way: discovery, registration, consent, tokens, refresh and reconnection. */
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import * as openId from 'openid-client'
import { afterAll, expect, test } from 'vitest'
import { callback, decide } from '../clients/oauth-client.ts'
import { person } from '../clients/team-client.ts'
import { startTestService } from '../service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const orgId = (await t.org()).org.id
const ann = await person(t, { orgId, role: 'developer' })

/** Goes to the address as the browser of the person, and allows everything that is asked for. */
const allowInBrowser = async (address: URL): Promise<URL> => {
  const page = await t.ask('GET', `${address.pathname}${address.search}`, { headers: { cookie: ann.cookie } })
  const id = new URL(String(page.headers.location), t.url).searchParams.get('id')
  const { body } = await ann.ask('GET', `/api/internal/oauth/request?id=${id}`)
  const scopes = body.scopes.map(({ name }: { name: string }) => name)
  const reply = await decide(t, ann.cookie, { request_id: id, decision: 'allow', org_id: orgId, scopes })
  return new URL(reply.body.redirect_to)
}

/** What a desktop assistant remembers. */
class Assistant implements OAuthClientProvider {
  readonly redirectUrl = callback
  readonly clientMetadata = { client_name: 'Assistant', redirect_uris: [callback] }
  client: OAuthClientInformationMixed | undefined
  saved: OAuthTokens | undefined
  verifier = ''
  visited: URL | undefined

  clientInformation = () => this.client
  saveClientInformation = (client: OAuthClientInformationMixed): void => {
    this.client = client
  }
  tokens = () => this.saved
  saveTokens = (tokens: OAuthTokens): void => {
    this.saved = tokens
  }
  redirectToAuthorization = (url: URL): void => {
    this.visited = url
  }
  saveCodeVerifier = (verifier: string): void => {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
  invalidateCredentials = (what: string): void => {
    this.saved = undefined
    if (what === 'all') this.client = undefined
  }
}

test('AD-146 AD-147 XD-30 the client of the SDK connects with nothing but the address, and refreshes by itself', async () => {
  const assistant = new Assistant()
  const serverUrl = new URL(`${t.url}/api/mcp`)
  const transport = new StreamableHTTPClientTransport(serverUrl, { authProvider: assistant })
  const client = new Client({ name: 'assistant', version: '1' })
  await expect(client.connect(transport as Transport)).rejects.toThrow('Unauthorized')
  expect(assistant.visited?.searchParams.get('resource')).toBe(serverUrl.href)
  const returned = await allowInBrowser(assistant.visited as URL)
  await transport.finishAuth(returned.searchParams.get('code') as string)

  const again = new Client({ name: 'assistant', version: '1' })
  await again.connect(new StreamableHTTPClientTransport(serverUrl, { authProvider: assistant }) as Transport)
  expect((await again.listTools()).tools.length).toBe(38)
  const first = assistant.saved?.access_token
  await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3_600 } })
  const usage = await again.callTool({ name: 'get_usage', arguments: {} })
  expect(usage.isError).toBeUndefined()
  expect(assistant.saved?.access_token).not.toBe(first)
  await again.close()
})

test('AD-146 the client of the SDK starts over when its grant has ended, and registers again when it is forgotten', async () => {
  const assistant = new Assistant()
  const serverUrl = new URL(`${t.url}/api/mcp`)
  expect(await auth(assistant, { serverUrl })).toBe('REDIRECT')
  const returned = await allowInBrowser(assistant.visited as URL)
  const authorizationCode = returned.searchParams.get('code') as string
  expect(await auth(assistant, { serverUrl, authorizationCode })).toBe('AUTHORIZED')
  await t.database.sql('delete from oauth_grants')
  expect(await auth(assistant, { serverUrl })).toBe('REDIRECT')
  const known = assistant.client?.client_id
  const next = await allowInBrowser(assistant.visited as URL)
  await auth(assistant, { serverUrl, authorizationCode: next.searchParams.get('code') as string })
  expect(assistant.client?.client_id).toBe(known)
  await t.database.sql('delete from oauth_clients')
  expect(await auth(assistant, { serverUrl })).toBe('REDIRECT')
  expect(assistant.client?.client_id).not.toBe(known)
})

test('AD-146 AD-147 openid-client discovers, registers, gets tokens, refreshes and revokes', async () => {
  const options = { algorithm: 'oauth2' as const, execute: [openId.allowInsecureRequests] }
  const config = await openId.dynamicClientRegistration(
    new URL(t.url),
    { client_name: 'openid-client', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
    openId.None(),
    options,
  )
  const verifier = openId.randomPKCECodeVerifier()
  const address = openId.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'read:usage read:messages',
    state: 'a state',
    code_challenge: await openId.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const checks = { pkceCodeVerifier: verifier, expectedState: 'a state' }
  const tokens = await openId.authorizationCodeGrant(config, await allowInBrowser(address), checks)
  expect([tokens.token_type, tokens.expires_in, tokens.scope]).toEqual(['bearer', 3600, 'read:messages read:usage'])
  const next = await openId.refreshTokenGrant(config, tokens.refresh_token as string)
  const status = async (key: string) => (await t.ask('GET', '/api/v1/usage', { key })).status
  expect(await status(next.access_token)).toBe(200)
  await openId.tokenRevocation(config, next.refresh_token as string)
  expect(await status(next.access_token)).toBe(401)
})
