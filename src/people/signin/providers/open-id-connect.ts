/** Sign-in at an OpenID Connect issuer: authorization code flow with PKCE, state and nonce. */
import * as client from 'openid-client'
import {
  type Checks,
  ProviderFault,
  type ProviderId,
  providerTimeout,
  type SignInProvider,
} from './sign-in-provider.ts'

type IssuerConfig = {
  id: ProviderId
  name: string
  issuer: string
  clientId: string
  clientSecret: string
}

/** Discovered again after this time, so that a change at the issuer is noticed. */
const discoveredForMs = 3_600_000

/** As the issuer asks for it. Without a word about it, the specification says basic. */
const secretAuth = (clientSecret: string): client.ClientAuth => {
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

/** Other values, such as `1` or `"True"`, are no statement of the issuer that one could rely on. */
export const saysVerified = (value: unknown): boolean => value === true || value === 'true'

type Issuer = Pick<IssuerConfig, 'issuer' | 'clientId' | 'clientSecret'>

/** Reads the metadata of an issuer. */
export const discoverIssuer = (
  { issuer, clientId, clientSecret }: Issuer,
  options: client.DiscoveryRequestOptions = {},
): Promise<client.Configuration> =>
  client.discovery(new URL(issuer), clientId, { [client.clockTolerance]: 60 }, secretAuth(clientSecret), {
    // The signature of the ID token is checked, although it comes over TLS.
    execute: [client.enableNonRepudiationChecks, ...plainHttp(issuer)],
    timeout: providerTimeout,
    ...options,
  })

/** The address at the issuer where the person signs in. */
export const issuerSignInUrl = async (
  config: client.Configuration,
  redirectUri: string,
  { state, nonce, verifier }: Checks,
): Promise<URL> =>
  client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })

/**
 * What an issuer says about the person who came back from it. Some issuers put the address into the ID token, others only
 * into the user info. Whether it is verified is said where the address is said.
 */
export const personClaims = async (
  config: client.Configuration,
  returned: URL,
  { state, nonce, verifier }: Checks,
): Promise<client.IDToken> => {
  const tokens = await client.authorizationCodeGrant(config, returned, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (!claims) throw new Error('the issuer sent no ID token')
  if (claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined) return claims
  const info = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
  return { ...info, ...claims, email: info.email, email_verified: info.email_verified }
}

export const textClaim = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const makeOpenIdConnect = (issuer: IssuerConfig): SignInProvider => {
  let found: { config: client.Configuration; at: number } | undefined

  const discover = async (): Promise<client.Configuration> => {
    if (found && performance.now() - found.at < discoveredForMs) return found.config
    const config = await discoverIssuer(issuer)
    found = { config, at: performance.now() }
    return config
  }

  return {
    id: issuer.id,
    name: issuer.name,
    start: async (redirectUri, checks) => {
      const config = await discover().catch((error) => {
        throw providerFaultOf(error)
      })
      return issuerSignInUrl(config, redirectUri, checks)
    },
    finish: async (returned, checks) => {
      try {
        const config = await discover()
        const claims = await personClaims(config, returned, checks)
        const email = textClaim(claims.email)
        return {
          issuer: config.serverMetadata().issuer,
          subject: claims.sub,
          verifiedEmail: saysVerified(claims.email_verified) ? email : undefined,
          name: textClaim(claims.name) ?? email?.split('@')[0] ?? '',
        }
      } catch (error) {
        throw providerFaultOf(error)
      }
    },
  }
}
