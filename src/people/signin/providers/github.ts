/** Sign-in at GitHub, which speaks OAuth without OpenID Connect: who the person is comes from its API. */
import * as client from 'openid-client'
import { z } from 'zod'
import { plainHttp, providerFaultOf } from './open-id-connect.ts'
import { providerTimeout, type SignInProvider } from './sign-in-provider.ts'

type GitHubConfig = { clientId: string; clientSecret: string; url: string; apiUrl: string }

const User = z.object({ id: z.number(), login: z.string(), name: z.string().nullish() })
const Emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

export const makeGitHub = ({ clientId, clientSecret, url, apiUrl }: GitHubConfig): SignInProvider => {
  const config = new client.Configuration(
    {
      issuer: url,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    },
    clientId,
    {},
    client.ClientSecretPost(clientSecret),
  )
  config.timeout = providerTimeout
  for (const allow of plainHttp(url)) allow(config)

  const read = async <T>(path: string, token: string, schema: z.ZodType<T>): Promise<T> => {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'Tidings' })
    const response = await client.fetchProtectedResource(
      config,
      token,
      new URL(`${apiUrl}${path}`),
      'GET',
      null,
      headers,
    )
    if (!response.ok) throw new Error(`GitHub responded to ${path} with ${response.status}`)
    return schema.parse(await response.json())
  }

  return {
    id: 'github',
    name: 'GitHub',
    start: async (redirectUri, { state, verifier }) =>
      client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'read:user user:email',
        state,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    finish: async (returned, { state, verifier }) => {
      try {
        const checks = { expectedState: state, pkceCodeVerifier: verifier }
        // GitHub publishes no metadata to compare it with.
        returned.searchParams.delete('iss')
        const { access_token: token } = await client.authorizationCodeGrant(config, returned, checks)
        const user = await read('/user', token, User)
        const emails = await read('/user/emails', token, Emails)
        return {
          issuer: url,
          subject: String(user.id),
          verifiedEmail: emails.find(({ primary, verified }) => primary && verified)?.email,
          name: user.name || user.login,
        }
      } catch (error) {
        throw providerFaultOf(error)
      }
    },
  }
}
