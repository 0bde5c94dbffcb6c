/** An OAuth client and the person who decides about it, over HTTP. */
import { createHash, randomBytes } from 'node:crypto'
import type { Ask, Reply, TestService } from '../service/service.ts'
import { askWith } from './people.ts'

export const callback = 'http://127.0.0.1:7777/callback'

export const registerClient = async (t: TestService, more: Record<string, unknown> = {}): Promise<string> => {
  const reply = await t.ask('POST', '/api/oauth/register', {
    body: { client_name: 'Desktop assistant', redirect_uris: ['http://127.0.0.1/callback'], ...more },
  })
  if (reply.status !== 201) throw new Error(`${reply.status} ${reply.text}`)
  return reply.body.client_id
}

export type Pkce = { verifier: string; challenge: string }

export const newPkce = (): Pkce => {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export const authorizePath = (clientId: string, pkce: Pkce, more: Record<string, string> = {}): string =>
  `/api/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: callback,
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    state: 'some state',
    ...more,
  })}`

/** Opens the consent page as a signed-in person. Returns the id of the request. */
export const openRequest = async (
  t: TestService,
  cookie: string,
  clientId: string,
  pkce: Pkce,
  more: Record<string, string> = {},
): Promise<string> => {
  const reply = await t.ask('GET', authorizePath(clientId, pkce, more), { headers: { cookie } })
  const id = String(reply.headers.location).match(/^\/oauth\/consent\?id=([\w-]+)$/)?.[1]
  if (reply.status !== 302 || id === undefined)
    throw new Error(`${reply.status} ${reply.headers.location} ${reply.text}`)
  return id
}

export type Wish = { cookie: string; orgId: string; scopes: string[]; clientId?: string; pkce?: Pkce }
export type Code = { clientId: string; pkce: Pkce; code: string }

export const decide = (t: TestService, cookie: string, body: unknown, more: Ask = {}): Promise<Reply> =>
  askWith(t, cookie, 'POST', '/api/internal/oauth/consent', { body, ...more })

/** A code for the scopes, allowed by the person. */
export const getCode = async (t: TestService, wish: Wish): Promise<Code> => {
  const clientId = wish.clientId ?? (await registerClient(t))
  const pkce = wish.pkce ?? newPkce()
  const id = await openRequest(t, wish.cookie, clientId, pkce, { scope: wish.scopes.join(' ') })
  const body = { request_id: id, decision: 'allow', org_id: wish.orgId, scopes: wish.scopes }
  const reply = await decide(t, wish.cookie, body)
  const code = reply.status === 200 && new URL(reply.body.redirect_to).searchParams.get('code')
  if (!code) throw new Error(`${reply.status} ${reply.text}`)
  return { clientId, pkce, code }
}

export const postForm = (
  t: TestService,
  path: string,
  fields: Record<string, string> | [string, string][],
): Promise<Reply> =>
  t.ask('POST', path, {
    raw: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

export const redeem = (t: TestService, { clientId, pkce, code }: Code, more: Record<string, string> = {}) =>
  postForm(t, '/api/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: pkce.verifier,
    redirect_uri: callback,
    ...more,
  })

export const refresh = (t: TestService, clientId: string, token: string, more: Record<string, string> = {}) =>
  postForm(t, '/api/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...more })

export type Tokens = { clientId: string; access: string; refresh: string }

export const getTokens = async (t: TestService, wish: Wish): Promise<Tokens> => {
  const code = await getCode(t, wish)
  const reply = await redeem(t, code)
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`)
  return { clientId: code.clientId, access: reply.body.access_token, refresh: reply.body.refresh_token }
}
