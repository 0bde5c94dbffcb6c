/** Parses SMTP_URL: `smtp://user:password@relay.example:587?tls=require&verify=off&name=mail.example`. */
import { isLoopback } from './ip-address.ts'

export type SmtpRelay = {
  host: string
  port: number
  /** TLS from the first byte. */
  implicitTls: boolean
  /** `offered`: use STARTTLS if the relay offers it. `require`: send nothing without it. `off`: never use it. */
  startTls: 'offered' | 'require' | 'off'
  /** Whether the certificate of the relay must be valid. */
  verify: boolean
  credentials: { user: string; password: string } | undefined
  /** The host name in EHLO. Undefined: the name of the machine if it contains a dot, otherwise `[127.0.0.1]`. */
  name: string | undefined
}

const choices = new Map([
  ['tls', /^(require|off)$/],
  ['verify', /^(on|off)$/],
  ['name', /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i],
])

const isThisMachine = (host: string): boolean => host === 'localhost' || isLoopback(host)

/** Undefined when the URL is invalid or has an unknown option. */
export const parseSmtpUrl = (text: string): SmtpRelay | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const options = [...url.searchParams]
  if (options.some(([name, value]) => !choices.get(name)?.test(value))) return undefined
  if (new Set(options.map(([name]) => name)).size !== options.length) return undefined
  if (url.hostname === '' || !/^\/?$/.test(url.pathname)) return undefined
  const implicitTls = url.protocol === 'smtps:'
  const tls = url.searchParams.get('tls') as 'require' | 'off' | null
  // With implicit TLS there is nothing to upgrade.
  if (implicitTls && tls !== null) return undefined
  let credentials: SmtpRelay['credentials']
  try {
    if (url.username !== '') {
      credentials = { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
    }
  } catch {
    return undefined
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // An attacker on the network can remove the STARTTLS offer. The password must not be sent in the clear because of it.
  const exposed = credentials !== undefined && !isThisMachine(host)
  return {
    host,
    port: url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port),
    implicitTls,
    startTls: tls ?? (exposed ? 'require' : 'offered'),
    verify: url.searchParams.get('verify') !== 'off',
    credentials,
    name: url.searchParams.get('name') ?? undefined,
  }
}
