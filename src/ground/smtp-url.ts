/** Reads SMTP_URL: `smtp://user:password@relay.example:587?tls=require&verify=off&name=mail.example`. */
import { isLoopback } from './ip-address.ts'

export type SmtpRelay = {
  host: string
  port: number
  /** TLS from the first byte. */
  implicitTls: boolean
  /** `offered`: STARTTLS when the relay offers it. `require`: no mail without it. `off`: never. */
  startTls: 'offered' | 'require' | 'off'
  /** Whether the relay's certificate must hold. */
  verify: boolean
  credentials: { user: string; password: string } | undefined
  /** What we call ourselves in EHLO; undefined: the name of the machine. */
  name: string | undefined
}

const choices: Record<string, RegExp> = {
  tls: /^(require|off)$/,
  verify: /^(on|off)$/,
  name: /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i,
}

const isHere = (host: string): boolean => host === 'localhost' || isLoopback(host)

/** Undefined when it cannot be read or has an option that does not exist. */
export const parseSmtpUrl = (text: string): SmtpRelay | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const options = [...url.searchParams]
  if (options.some(([name, value]) => !choices[name]?.test(value))) return undefined
  if (new Set(options.map(([name]) => name)).size !== options.length) return undefined
  if (url.hostname === '' || !/^\/?$/.test(url.pathname)) return undefined
  const implicitTls = url.protocol === 'smtps:'
  const asked = url.searchParams.get('tls') as 'require' | 'off' | null
  // A relay over TLS from the start has nothing left to upgrade.
  if (implicitTls && asked !== null) return undefined
  let credentials: SmtpRelay['credentials']
  try {
    if (url.username !== '') {
      credentials = { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
    }
  } catch {
    return undefined
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // A password must not leave the machine in the clear because somebody on the way hid the offer of TLS.
  const exposed = credentials !== undefined && !isHere(host)
  return {
    host,
    port: url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port),
    implicitTls,
    startTls: asked ?? (exposed ? 'require' : 'offered'),
    verify: url.searchParams.get('verify') !== 'off',
    credentials,
    name: url.searchParams.get('name') ?? undefined,
  }
}
