/** GitHub's sign-in and the part of its API that sign-in uses, on loopback. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type GitHubPerson = {
  id: number
  login: string
  name: string | null
  emails: { email: string; primary: boolean; verified: boolean; visibility: string | null }[]
}

export type GitHub = {
  url: string
  clientId: string
  clientSecret: string
  /** The person allows the app. Returns where GitHub sends the browser. */
  authorize(start: string, person: GitHubPerson): string
  /** Responds to every request with a 500 until it is set back. */
  down: boolean
  stop(): Promise<void>
}

const clientId = 'Iv1.0123456789abcdef'
const clientSecret = 'a-secret-of-the-github-app'

type Grant = { person: GitHubPerson; challenge: string; redirectUri: string }

export const startGitHub = async (): Promise<GitHub> => {
  const codes = new Map<string, Grant>()
  const tokens = new Map<string, GitHubPerson>()
  let counter = 0

  /** GitHub reports a bad code with status 200. */
  const exchange = (form: URLSearchParams): Record<string, string> => {
    const grant = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const ours = form.get('client_id') === clientId && form.get('client_secret') === clientSecret
    if (!ours) return { error: 'incorrect_client_credentials', error_description: 'The client credentials are wrong.' }
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri')) {
      return { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' }
    }
    const token = `gho_${++counter}`
    tokens.set(token, grant.person)
    return { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' }
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
    if (hub.down) return send(500, { message: 'Server Error' })
    const path = request.url?.split('?')[0]
    if (path === '/login/oauth/access_token') {
      return send(200, exchange(new URLSearchParams(Buffer.concat(chunks).toString())))
    }
    const person = tokens.get(request.headers.authorization?.replace(/^Bearer /i, '') ?? '')
    if (!person || !request.headers['user-agent']) return send(401, { message: 'Bad credentials' })
    const { emails, ...user } = person
    if (path === '/user') return send(200, { ...user, email: null, type: 'User', site_admin: false })
    return path === '/user/emails' ? send(200, emails) : send(404, { message: 'Not Found' })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const hub: GitHub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId,
    clientSecret,
    down: false,
    authorize: (start, person) => {
      const asked = new URL(start).searchParams
      const code = `code-${++counter}`
      const redirectUri = asked.get('redirect_uri') as string
      codes.set(code, { person, challenge: asked.get('code_challenge') as string, redirectUri })
      return `${redirectUri}?code=${code}&state=${encodeURIComponent(asked.get('state') as string)}`
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return hub
}
