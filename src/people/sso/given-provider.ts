/** The identity provider that an owner configures, in any of the ways in which it can be given. */
import { invalid } from '../../platform/ground/errors.ts'
import type { GuardedAgent } from '../../platform/outgoing/guarded.ts'
import { readCertificate } from './certificates.ts'
import { type DescribedProvider, fetchMetadata, MetadataFault, readMetadata } from './idp-metadata.ts'
import type { SsoBody } from './shapes.ts'

type GivenSaml = { protocol: 'saml'; entityId: string; ssoUrl: string; certificates: string[] }
/** Without a secret, the stored one stays. */
type GivenOidc = { protocol: 'oidc'; issuer: string; clientId: string; clientSecret: string | undefined }
export type GivenProvider = GivenSaml | GivenOidc

const refuse = (field: keyof SsoBody, message: string): never => {
  throw invalid([field], 'custom', message)
}

type Needs = { agent: GuardedAgent; allowInsecure: boolean }

/** The browser is sent there, so the address may be in a private network. */
const checkedUrl = (text: string, field: keyof SsoBody, allowInsecure: boolean): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const secure = url?.protocol === 'https:' || (allowInsecure && url?.protocol === 'http:')
  if (!url || !secure || url.username !== '' || url.password !== '' || url.hash !== '') {
    return refuse(field, 'Enter an https address without a user name or a fragment.')
  }
  return url.href
}

const checkedSaml = (given: DescribedProvider, field: keyof SsoBody | undefined, needs: Needs): GivenSaml => {
  const certificates = given.certificates.map((text) => {
    const read = readCertificate(text)
    return 'pem' in read ? read.pem : refuse(field ?? 'idp_certificates', read.fault)
  })
  return {
    protocol: 'saml',
    entityId: given.entityId.slice(0, 1_024),
    ssoUrl: checkedUrl(given.ssoUrl, field ?? 'idp_sso_url', needs.allowInsecure),
    certificates: [...new Set(certificates)],
  }
}

const described = async (
  field: 'idp_metadata_xml' | 'idp_metadata_url',
  read: () => DescribedProvider | Promise<DescribedProvider>,
  needs: Needs,
): Promise<GivenSaml> => {
  try {
    return checkedSaml(await read(), field, needs)
  } catch (error) {
    if (error instanceof MetadataFault) return refuse(field, error.message)
    throw error
  }
}

const givenSaml = async (body: SsoBody, needs: Needs): Promise<GivenSaml | undefined> => {
  const { idp_entity_id, idp_sso_url, idp_certificates, idp_metadata_xml: xml, idp_metadata_url: url } = body
  const single = [idp_entity_id, idp_sso_url, idp_certificates]
  const ways = [xml != null, url != null, single.some((value) => value != null)].filter(Boolean)
  if (ways.length > 1) {
    const field = xml == null ? 'idp_metadata_url' : 'idp_metadata_xml'
    refuse(field, 'Give the metadata, its address, or the three single fields, and only one of them.')
  }
  if (xml != null) return described('idp_metadata_xml', () => readMetadata(xml), needs)
  if (url != null) return described('idp_metadata_url', () => fetchMetadata(needs.agent, url), needs)
  if (ways.length === 0) return undefined
  if (idp_entity_id == null) return refuse('idp_entity_id', 'Give all three fields of the identity provider.')
  if (idp_sso_url == null) return refuse('idp_sso_url', 'Give all three fields of the identity provider.')
  if (idp_certificates == null) return refuse('idp_certificates', 'Give all three fields of the identity provider.')
  const given = { entityId: idp_entity_id, ssoUrl: idp_sso_url, certificates: idp_certificates }
  return checkedSaml(given, undefined, needs)
}

const givenOidc = (body: SsoBody, { allowInsecure }: Needs): GivenOidc | undefined => {
  const { oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret: secret } = body
  if (issuer == null && clientId == null && secret == null) return undefined
  if (issuer == null) return refuse('oidc_issuer', 'Give the issuer and the client id.')
  if (clientId == null) return refuse('oidc_client_id', 'Give the issuer and the client id.')
  checkedUrl(issuer, 'oidc_issuer', allowInsecure)
  // The issuer in a token must equal this text, so it is not rewritten.
  return { protocol: 'oidc', issuer, clientId, clientSecret: secret ?? undefined }
}

/** Undefined if the body names no identity provider, so that the configured one stays. May use the network. */
export const readGivenProvider = async (body: SsoBody, needs: Needs): Promise<GivenProvider | undefined> => {
  const saml = await givenSaml(body, needs)
  const oidc = givenOidc(body, needs)
  if (saml && oidc) return refuse('protocol', 'Configure either SAML or OpenID Connect.')
  const given = saml ?? oidc
  if (given && body.protocol != null && body.protocol !== given.protocol) {
    return refuse('protocol', 'The fields belong to the other protocol.')
  }
  return given
}
