/** Where the browser returns to. The dialog that asks to sign in again has no such address: it is the present page. */
const backFrom = (redirectTo: string | undefined): string =>
  redirectTo ?? (location.pathname.startsWith('/login') ? '/' : location.pathname + location.search)

/** The address that starts single sign-on and returns to where the person wanted to go. */
export const ssoAddress = (start: string, redirectTo: string | undefined): string => {
  const url = new URL(start, location.origin)
  url.searchParams.set('redirect_to', backFrom(redirectTo))
  return url.pathname + url.search
}
