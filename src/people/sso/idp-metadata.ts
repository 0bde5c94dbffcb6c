/** Reads the metadata of an identity provider: who it is, where people sign in, and the certificates it signs with. */
import { type GuardedAgent, OutgoingFault } from '../../platform/outgoing/guarded.ts'
import { maxCertificates } from './certificates.ts'
import { metadataNs, protocolNs, redirectBinding, signatureNs } from './saml/saml-names.ts'
import { childrenNamed, everyElement, readXml, type XmlElement, XmlFault, type XmlLimits } from './saml/strict-xml.ts'

export const maxMetadataChars = 524_288

const limits: XmlLimits = {
  maxChars: maxMetadataChars,
  maxElements: 10_000,
  maxAttributes: 30_000,
  maxDeclarations: 64,
  maxDepth: 32,
  skipRemarks: true,
}
const fetchTimeoutMs = 10_000

/** The message is for the owner who configures the connection. */
export class MetadataFault extends Error {}

/** Not yet checked: certificates as they are written, and any address. */
export type DescribedProvider = { entityId: string; ssoUrl: string; certificates: string[] }

const isSigning = ({ attributes }: XmlElement): boolean => (attributes.get('use') ?? 'signing') === 'signing'

const certificatesIn = (descriptor: XmlElement): string[] => {
  const texts = childrenNamed(descriptor, metadataNs, 'KeyDescriptor')
    .filter(isSigning)
    .flatMap(everyElement)
    .filter(({ name, namespace }) => name === 'X509Certificate' && namespace === signatureNs)
    .map(({ text }) => text.replace(/\s+/g, ''))
  return [...new Set(texts)]
}

const rootOf = (xml: string): XmlElement => {
  try {
    return readXml(xml, limits)
  } catch (error) {
    if (!(error instanceof XmlFault)) throw error
    throw new MetadataFault(`The metadata cannot be read: ${error.message}.`)
  }
}

export const readMetadata = (xml: string): DescribedProvider => {
  const root = rootOf(xml)
  if (root.name !== 'EntityDescriptor' || root.namespace !== metadataNs) {
    throw new MetadataFault('The metadata must describe one entity.')
  }
  const descriptor = childrenNamed(root, metadataNs, 'IDPSSODescriptor').find(({ attributes }) =>
    (attributes.get('protocolSupportEnumeration') ?? '').split(/\s+/).includes(protocolNs),
  )
  if (!descriptor) throw new MetadataFault('The metadata does not describe an identity provider of SAML 2.0.')
  const service = childrenNamed(descriptor, metadataNs, 'SingleSignOnService').find(
    ({ attributes }) => attributes.get('Binding') === redirectBinding,
  )
  const entityId = root.attributes.get('entityID')?.trim() ?? ''
  const ssoUrl = service?.attributes.get('Location')?.trim() ?? ''
  const certificates = certificatesIn(descriptor)
  if (entityId === '') throw new MetadataFault('The metadata has no entity id.')
  if (ssoUrl === '') throw new MetadataFault('The metadata has no sign-in address for the HTTP-Redirect binding.')
  if (certificates.length === 0) throw new MetadataFault('The metadata has no certificate for signatures.')
  if (certificates.length > maxCertificates) {
    throw new MetadataFault(`The metadata has more than ${maxCertificates} certificates for signatures.`)
  }
  return { entityId, ssoUrl, certificates }
}

/** Follows no redirects, and refuses addresses inside private networks like every address that a customer chooses. */
export const fetchMetadata = async (agent: GuardedAgent, url: string): Promise<DescribedProvider> => {
  const headers = { accept: 'application/samlmetadata+xml, application/xml, text/xml' }
  const response = await agent
    .request(url, { method: 'GET', headers, timeoutMs: fetchTimeoutMs, maxBytes: maxMetadataChars })
    .catch((error: unknown) => {
      if (!(error instanceof OutgoingFault)) throw error
      throw new MetadataFault(`The metadata could not be fetched: ${error.kind.replaceAll('_', ' ')}.`)
    })
  if (response.status !== 200) throw new MetadataFault(`The metadata address responded with ${response.status}.`)
  if (response.truncated) throw new MetadataFault('The metadata is too large.')
  return readMetadata(response.body.toString('utf8'))
}
