/** Refuses requests that a proxy in front of the service could read differently: their host, or the bytes of their body. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../../platform/ground/errors.ts'

/** One host with an optional port. Lists, user names and paths are not hosts. */
const oneHost = /^(?:[^\s,/\\?#@:[\]]*|\[[^\s,/\\?#@[\]]+\])(?::\d{0,5})?$/

const absoluteTarget = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i

const defaultPorts: Record<string, RegExp> = { http: /:(?:80)?$/, https: /:(?:443)?$/ }

const hostLines = (rawHeaders: readonly string[]): number => {
  let lines = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') lines++
  }
  return lines
}

/**
 * Whether the request is for exactly one host. An absolute target takes precedence over the Host header in some programs
 * and not in others, so the two must agree. HTTP/1.0 has no Host header.
 */
const namesOneHost = ({ rawHeaders, headers, httpVersion }: IncomingMessage, target: string): boolean => {
  const { host } = headers
  if (host === undefined ? httpVersion === '1.1' : hostLines(rawHeaders) > 1 || !oneHost.test(host)) return false
  if (target.startsWith('/')) return true
  const [, scheme, authority] = target.match(absoluteTarget) ?? []
  if (scheme === undefined || authority === undefined) return true
  const defaultPort = defaultPorts[scheme.toLowerCase()]
  if (!defaultPort || !oneHost.test(authority)) return false
  const comparable = (text: string): string => text.toLowerCase().replace(defaultPort, '')
  return host === undefined || comparable(authority) === comparable(host)
}

/** Node also accepts other codings before `chunked`, and `chunked` twice, but decodes only one `chunked`. */
const isPlainlyFramed = ({ 'transfer-encoding': coding }: IncomingHttpHeaders): boolean =>
  coding === undefined || coding.toLowerCase() === 'chunked'

const refused = new WeakSet<Socket>()

/**
 * Whether the request has one meaning. After one that has not, every request on its connection is refused: a program in
 * between may see that one end elsewhere, so what follows it may not be a request of its client.
 */
export const isUnambiguous = (request: IncomingMessage, target: string): boolean => {
  const { socket, headers } = request
  if (!refused.has(socket) && isPlainlyFramed(headers) && namesOneHost(request, target)) return true
  refused.add(socket)
  return false
}

const charsets = /;\s*charset\s*=\s*("?)([^";]*)\1/gi

/** Some programs omit the hyphen in the name of UTF-8. */
const isUtf8Name = (name: string): boolean => /^utf-?8$/i.test(name.trim())

/**
 * The refusal of a body that the service would have to decode first. Only JSON has its charset checked: other types are
 * either refused anyway or, on the unsubscribe page, forms of mail programs that contain only ASCII.
 */
export const codingFault = (headers: IncomingHttpHeaders): Failure | undefined => {
  // Nearly every request has exactly this.
  if (headers['content-encoding'] === undefined && headers['content-type'] === 'application/json') return undefined
  const codings = headers['content-encoding']?.split(',') ?? []
  if (codings.some((coding) => coding.trim().toLowerCase() !== 'identity')) {
    return new Failure('UNSUPPORTED_MEDIA_TYPE', {
      message: 'The request body must not be compressed. Send it without Content-Encoding.',
    })
  }
  const type = headers['content-type'] ?? ''
  const named = /^\s*application\/json/i.test(type) ? [...type.matchAll(charsets)] : []
  if (named.every(([, , name = '']) => isUtf8Name(name))) return undefined
  return new Failure('UNSUPPORTED_MEDIA_TYPE', {
    message: 'The request body must be UTF-8. Send it with Content-Type: application/json.',
  })
}
