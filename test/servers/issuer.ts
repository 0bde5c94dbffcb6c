/** A real OpenID Connect issuer on loopback, and a person who signs in there. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export type Claims = { sub: string; email?: string; email_verified?: boolean; name?: string }

export type Issuer = {
  url: string
  clientId: string
  clientSecret: string
  /** Starts to serve, once the address of the service is known. */
  serve(redirectUri: string): void
  /** Claims by the name that the person types at the issuer. */
  people: Map<string, Claims>
  stop(): Promise<void>
}

const clientId = 'tidings'
const clientSecret = 'a-secret-of-the-test-client'

export const startIssuer = async (): Promise<Issuer> => {
  let handle: RequestListener = (_, response) => response.writeHead(503).end()
  const server = createServer((request, response) => handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Claims>()
  return {
    url,
    clientId,
    clientSecret,
    people,
    serve: (redirectUri) => {
      const provider = new Provider(url, {
        clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
        cookies: { keys: ['a key of the tests'] },
        pkce: { required: () => true },
        findAccount: async (_: unknown, id: string) => ({ accountId: id, claims: async () => ({ ...people.get(id) }) }),
      })
      handle = provider.callback()
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Signs in at the issuer as a browser would, and returns the address that the issuer sends the browser back to. */
export const signInAtIssuer = async (issuer: Issuer, start: string, login: string): Promise<string> => {
  const jar = new Map<string, string>()
  const visit = async (url: string, form?: Record<string, string>): Promise<Response> => {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string]
      jar.set(name, value)
    }
    return response
  }
  let at = start
  let response = await visit(at)
  for (let steps = 0; steps < 20; steps++) {
    const location = response.headers.get('location')
    if (location !== null) {
      at = new URL(location, at).href
      if (!at.startsWith(issuer.url)) return at
      response = await visit(at)
      continue
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(await response.text())?.[1]
    if (!prompt) throw new Error(`the issuer shows no form at ${at}: ${response.status}`)
    response = await visit(at, prompt === 'login' ? { prompt, login, password: 'x' } : { prompt })
  }
  throw new Error('the issuer never sent the browser back')
}
