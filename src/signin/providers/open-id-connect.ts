/** Sign-in at an OpenID Connect issuer: authorization code flow with PKCE, state and nonce. */
import * as client from 'openid-client'
import {
  type Checks,
  ProviderFault,
  type ProviderId,
  providerTimeout,
  type SignInProvider,
} from './sign-in-provider.ts'

export type IssuerConfig = {
  id: ProviderId
  name: string
  issuer: string
  clientId: string
  clientSecret: string
}

/** Discovered again after this time, so that a change at the issuer is noticed. */
const discoveredForMs = 3_600_000

/** As the issuer asks for it. Without a word about it, the specification says basic. */
export const secretAuth = (clientSecret: string): client.ClientAuth => {
  const basic = client.ClientSecretBasic(clientSecret)
  const post = client.ClientSecretPost(clientSecret)
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
}

/** A refusal of the provider, or a fault. */
export const providerFaultOf = (error: unknown): ProviderFault => {
  const denied = error instanceof client.AuthorizationResponseError && error.error === 'access_denied'
  return new ProviderFault(denied ? 'denied' : 'failed', error)
}

/** The configuration refuses plain http, except to this machine outside production. */
export const plainHttp = (url: string): ((config: client.Configuration) => void)[] =>
  url.startsWith('http:') ? [client.allowInsecureRequests] : []

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export const makeOpenIdConnect = (issuer: IssuerConfig): SignInProvider => {
  let found: { config: client.Configuration; at: number } | undefined

  const discover = async (): Promise<client.Configuration> => {
    if (found && performance.now() - found.at < discoveredForMs) return found.config
    const config = await client.discovery(
      new URL(issuer.issuer),
      issuer.clientId,
      { [client.clockTolerance]: 60 },
      secretAuth(issuer.clientSecret),
      { execute: plainHttp(issuer.issuer), timeout: providerTimeout },
    )
    found = { config, at: performance.now() }
    return config
  }

  return {
    id: issuer.id,
    name: issuer.name,
    start: async (redirectUri, { state, nonce, verifier }) => {
      const config = await discover().catch((error) => {
        throw providerFaultOf(error)
      })
      return client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
    },
    finish: async (returned, { state, nonce, verifier }: Checks) => {
      try {
        const config = await discover()
        const tokens = await client.authorizationCodeGrant(config, returned, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims) throw new Error('the issuer sent no ID token')
        // Some issuers put the address into the ID token, others only into the user info.
        const info =
          claims.email === undefined && config.serverMetadata().userinfo_endpoint !== undefined
            ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
            : {}
        const all: Record<string, unknown> = { ...info, ...claims }
        const email = textOf(all.email)
        return {
          issuer: config.serverMetadata().issuer,
          subject: claims.sub,
          verifiedEmail: all.email_verified === true || all.email_verified === 'true' ? email : undefined,
          name: textOf(all.name) ?? email?.split('@')[0] ?? '',
        }
      } catch (error) {
        throw providerFaultOf(error)
      }
    },
  }
}
