/** This service as identity providers see it: its names and addresses, its metadata, and its requests. */
import { randomBytes } from 'node:crypto'
import { emailFormat } from './saml-names.ts'
import type { SamlKey } from './service-key.ts'

/** Most processes never need the library, which loads parsers of XML. */
const loadSaml = () => import('@node-saml/node-saml')

type ServiceProvider = { entityId: string; acsUrl: string }

/** Without an org, the entity of the whole service. */
export const serviceProviderOf = (baseUrl: string, slug: string | undefined): ServiceProvider => {
  const query = slug === undefined ? '' : `?org=${slug}`
  return {
    entityId: `${baseUrl}/api/auth/saml/metadata${query}`,
    acsUrl: `${baseUrl}/api/auth/saml/acs${query}`,
  }
}

export const serviceMetadata = async ({ entityId, acsUrl }: ServiceProvider, key: SamlKey): Promise<string> => {
  const { generateServiceProviderMetadata } = await loadSaml()
  return generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl: acsUrl,
    identifierFormat: emailFormat,
    wantAssertionsSigned: true,
    privateKey: key.privateKey,
    publicCerts: key.certificate,
  })
}

export const newRequestId = (): string => `_${randomBytes(20).toString('hex')}`

type AuthnRequest = { id: string; provider: ServiceProvider; idpSsoUrl: string; key: SamlKey }

/**
 * The address at the identity provider, with the signed request in its query. Its time is real, because the identity
 * provider compares it with its own clock.
 */
export const authnRequestUrl = async ({ id, provider, idpSsoUrl, key }: AuthnRequest): Promise<string> => {
  const { SAML } = await loadSaml()
  const saml = new SAML({
    entryPoint: idpSsoUrl,
    issuer: provider.entityId,
    callbackUrl: provider.acsUrl,
    // Nothing is verified here, and the library insists on a certificate.
    idpCert: key.certificate,
    privateKey: key.privateKey,
    signatureAlgorithm: 'sha256',
    identifierFormat: emailFormat,
    // How people prove themselves is for the identity provider to decide.
    disableRequestedAuthnContext: true,
    generateUniqueId: () => id,
  })
  return saml.getAuthorizeUrlAsync('', undefined, {})
}
