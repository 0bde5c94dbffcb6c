/** Parses SMPP_URL: `smpp://system:password@smsc.example:2775?system_type=x&verify=off`. `ssmpp` uses TLS. */

export type SmppCentre = {
  host: string
  port: number
  tls: boolean
  /** Whether the certificate of the message centre must be valid. */
  verify: boolean
  systemId: string
  password: string
  systemType: string
}

/** The fields of a bind request are ASCII and end with a NUL. SMPP 3.4 bounds them, and some centres allow longer ones. */
const fits = (text: string, max: number): boolean => text.length <= max && /^[\x20-\x7e]*$/.test(text)

/** Undefined when the URL is invalid, has no system id, or has an unknown option. */
export const parseSmppUrl = (text: string): SmppCentre | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const options = new Map(url.searchParams)
  if (options.size !== url.searchParams.size || url.hostname === '' || !/^\/?$/.test(url.pathname)) return undefined
  const { verify = 'on', system_type: systemType = '', ...unknown } = Object.fromEntries(options)
  if (Object.keys(unknown).length > 0 || !/^(on|off)$/.test(verify)) return undefined
  const tls = url.protocol === 'ssmpp:'
  try {
    const systemId = decodeURIComponent(url.username)
    const password = decodeURIComponent(url.password)
    if (systemId === '' || !fits(systemId, 64) || !fits(password, 64) || !fits(systemType, 12)) return undefined
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (tls ? 3550 : 2775) : Number(url.port),
      tls,
      verify: verify === 'on',
      systemId,
      password,
      systemType,
    }
  } catch {
    return undefined
  }
}
