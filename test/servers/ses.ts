/** The identity routes of the SESv2 API on loopback. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type SesIdentity = {
  selector: string
  privateKey: string
  status: string
  configurationSet: string | undefined
  mailFrom?: Record<string, unknown>
  forwarding?: unknown
}

type SesFault = { status: number; type: string; message?: string } | 'empty' | 'lost'

export type SesServer = {
  url: string
  /** By `region name`. */
  identities: Map<string, SesIdentity>
  /** Every request, such as `GET /v2/email/identities/example.com eu-west-1`. */
  requests: string[]
  /** Fails every request whose `method path` matches, until it is removed. */
  faults: { on: RegExp; fault: SesFault }[]
  /** Runs once while the next identity is created. */
  whileCreating: (() => Promise<unknown>) | undefined
  close(): Promise<void>
}

const send = (response: ServerResponse, status: number, body: unknown, type?: string): void => {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(type !== undefined && { 'x-amzn-errortype': `${type}:http://x/` }),
  })
  response.end(JSON.stringify(body))
}

const fail = (response: ServerResponse, fault: SesFault): void => {
  if (fault === 'lost') response.destroy()
  else if (fault === 'empty') send(response, 200, {})
  else send(response, fault.status, { message: fault.message ?? 'because' }, fault.type)
}

type Body = Record<string, never> & {
  EmailIdentity: string
  ConfigurationSetName?: string
  DkimSigningAttributes: { DomainSigningSelector: string; DomainSigningPrivateKey: string }
  SigningAttributes: { DomainSigningSelector: string; DomainSigningPrivateKey: string }
}

const create = (identities: SesServer['identities'], region: string, body: Body, response: ServerResponse): void => {
  const key = `${region} ${body.EmailIdentity}`
  if (identities.has(key)) {
    send(response, 400, { message: 'exists' }, 'AlreadyExistsException')
    return
  }
  const { DomainSigningSelector: selector, DomainSigningPrivateKey: privateKey } = body.DkimSigningAttributes
  identities.set(key, { selector, privateKey, status: 'PENDING', configurationSet: body.ConfigurationSetName })
  send(response, 200, { IdentityType: 'DOMAIN', VerifiedForSendingStatus: false })
}

const change = (identity: SesIdentity, what: string | undefined, body: Body): void => {
  if (what === 'mail-from') identity.mailFrom = body
  if (what === 'feedback') identity.forwarding = (body as Record<string, unknown>).EmailForwardingEnabled
  if (what === 'dkim/signing') {
    identity.selector = body.SigningAttributes.DomainSigningSelector
    identity.privateKey = body.SigningAttributes.DomainSigningPrivateKey
    identity.status = 'PENDING'
  }
}

export const startSesServer = async (): Promise<SesServer> => {
  const identities: SesServer['identities'] = new Map()
  const requests: string[] = []
  const faults: SesServer['faults'] = []
  const ses: SesServer = {
    url: '',
    identities,
    requests,
    faults,
    whileCreating: undefined,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const region = /\/\d{8}\/([a-z0-9-]+)\/ses\//.exec(headers.authorization ?? '')?.[1] ?? ''
    const sent = await text(request)
    const body = JSON.parse(sent || '{}') as Body
    requests.push(`${method} ${url} ${region}`)
    const found = faults.find(({ on }) => on.test(`${method} ${url}`))
    if (found) return fail(response, found.fault)
    const [, name = '', what] = /^\/v[12]\/email\/identities\/([^/]+)(?:\/(.+))?$/.exec(url) ?? []
    if (name === '') {
      const { whileCreating } = ses
      ses.whileCreating = undefined
      await whileCreating?.()
      return create(identities, region, body, response)
    }
    const key = `${region} ${decodeURIComponent(name)}`
    const identity = identities.get(key)
    if (!identity) return send(response, 404, { message: 'no such identity' }, 'NotFoundException')
    if (method === 'GET') {
      return send(response, 200, { DkimAttributes: { Status: identity.status, Tokens: [identity.selector] } })
    }
    if (method === 'DELETE') identities.delete(key)
    else change(identity, what, body)
    send(response, 200, {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ses.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return ses
}
