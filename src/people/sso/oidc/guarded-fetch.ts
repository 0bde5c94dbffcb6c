/** Lets the OpenID Connect library reach an issuer that a customer chose only through the guarded agent. */
import type { CustomFetch } from 'openid-client'
import type { GuardedAgent } from '../../../platform/outgoing/guarded.ts'

const timeoutMs = 10_000
const maxBytes = 262_144

const withoutBody = new Set([204, 205, 304])

const textOf = (body: unknown): string | undefined => {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString()
  throw new Error('a request to an issuer has an unexpected body')
}

export const makeGuardedFetch =
  (agent: GuardedAgent): CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    if (method !== 'GET' && method !== 'POST') throw new Error(`${method} is not used with issuers`)
    const text = textOf(body)
    const response = await agent.request(url, {
      method,
      headers,
      timeoutMs,
      maxBytes,
      ...(text !== undefined && { body: text }),
      ...(signal && { signal }),
    })
    if (response.truncated) throw new Error('the response of the issuer is too large')
    const shown = new Headers()
    for (const [name, value] of Object.entries(response.headers)) {
      for (const one of [value ?? []].flat()) shown.append(name, one)
    }
    const bytes = withoutBody.has(response.status) ? null : new Uint8Array(response.body)
    return new Response(bytes, { status: response.status, headers: shown })
  }
