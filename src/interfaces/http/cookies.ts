/** The cookies of the dashboard: their names, attributes, and how they are read. */

export const sessionCookie = 'service_session'
export const activeOrgCookie = 'service_active_org'
export const pendingCookie = 'service_pending'
export const providerCookie = 'service_oauth'
export const deviceCookie = 'service_device'

/** The value of a cookie in a request. An empty one counts as absent. */
export const cookieOf = (header: string | undefined, name: string): string | undefined => {
  for (const part of header?.split(';') ?? []) {
    const at = part.indexOf('=')
    if (at >= 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim() || undefined
  }
  return undefined
}

export interface Cookies {
  set(name: string, value: string, maxAgeSeconds: number): string
  /** A cookie that a form posted from another site brings back too. Browsers take it over https and on this machine. */
  setCrossSite(name: string, value: string, maxAgeSeconds: number): string
  clear(name: string): string
}

/** `secure` is asked for each cookie, because the address of the service is known only once it listens. */
export const makeCookies = (secure: () => boolean): Cookies => {
  const set = (name: string, value: string, maxAgeSeconds: number): string =>
    `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Lax${secure() ? '; Secure' : ''}`
  const setCrossSite: Cookies['setCrossSite'] = (name, value, maxAgeSeconds) =>
    `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=None; Secure`
  return { set, setCrossSite, clear: (name) => set(name, '', 0) }
}
