/** The documents from which a client learns where to register and how to ask for a token (RFC 8414, RFC 9728). */
import { grantableScopes } from '../../../people/oauth/grantable.ts'

export const authorizationServer = (baseUrl: string) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}/api/oauth/authorize`,
  token_endpoint: `${baseUrl}/api/oauth/token`,
  registration_endpoint: `${baseUrl}/api/oauth/register`,
  revocation_endpoint: `${baseUrl}/api/oauth/revoke`,
  scopes_supported: grantableScopes,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
})

export const protectedResource = (baseUrl: string) => ({
  resource: `${baseUrl}/api/mcp`,
  authorization_servers: [baseUrl],
  scopes_supported: grantableScopes,
  bearer_methods_supported: ['header'],
  resource_name: 'Tidings',
  resource_documentation: `${baseUrl}/docs`,
})
