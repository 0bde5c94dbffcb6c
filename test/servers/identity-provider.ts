/** A SAML identity provider of the tests: it signs responses, and can be made to sign or send wrong ones. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import { selfSignedCertificate } from '../../src/people/sso/saml/self-signed.ts'

export type SigningKey = { privateKey: string; certificate: string }

export const newSigningKey = (): SigningKey => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const certificate = selfSignedCertificate(privateKey, 'IdP', new Date(), new Date(Date.now() + 86_400_000))
  return { privateKey, certificate }
}

export type AnswerOptions = {
  email: string
  issuer: string
  audience: string
  acsUrl: string
  inResponseTo?: string | undefined
  now: Date
  assertionId?: string
  destination?: string | null
  recipient?: string
  confirmedRequest?: string | undefined
  notBefore?: Date
  notOnOrAfter?: Date
  status?: string
  format?: string
  /** Markup of the name instead of the address. */
  nameId?: string
  attributes?: Record<string, string>
  responseIssuer?: string
  conditions?: string
}

const at = (time: Date): string => time.toISOString()
export const newXmlId = (): string => `_${randomBytes(16).toString('hex')}`

const emailFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'

const attribute = ([name, value]: [string, string]): string =>
  `<saml:Attribute Name="${name}"><saml:AttributeValue>${value}</saml:AttributeValue></saml:Attribute>`

const request = (id: string | undefined): string => (id === undefined ? '' : ` InResponseTo="${id}"`)

/** An assertion without a signature. */
export const assertionXml = (o: AnswerOptions): string => {
  const from = at(o.notBefore ?? new Date(o.now.getTime() - 60_000))
  const until = at(o.notOnOrAfter ?? new Date(o.now.getTime() + 300_000))
  const confirmed = 'confirmedRequest' in o ? o.confirmedRequest : o.inResponseTo
  const attributes = Object.entries(o.attributes ?? {})
  const statement =
    attributes.length === 0
      ? ''
      : `<saml:AttributeStatement>${attributes.map(attribute).join('')}</saml:AttributeStatement>`
  return (
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${o.assertionId ?? newXmlId()}" ` +
    `Version="2.0" IssueInstant="${at(o.now)}"><saml:Issuer>${o.issuer}</saml:Issuer>` +
    `<saml:Subject><saml:NameID Format="${o.format ?? emailFormat}">${o.nameId ?? o.email}</saml:NameID>` +
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">' +
    `<saml:SubjectConfirmationData NotOnOrAfter="${until}" Recipient="${o.recipient ?? o.acsUrl}"${request(confirmed)}/>` +
    '</saml:SubjectConfirmation></saml:Subject>' +
    `<saml:Conditions NotBefore="${from}" NotOnOrAfter="${until}"><saml:AudienceRestriction>` +
    `<saml:Audience>${o.audience}</saml:Audience></saml:AudienceRestriction>${o.conditions ?? ''}</saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${at(o.now)}"><saml:AuthnContext><saml:AuthnContextClassRef>` +
    'urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext>' +
    `</saml:AuthnStatement>${statement}</saml:Assertion>`
  )
}

/** A response around an assertion. */
export const responseXml = (o: AnswerOptions, assertion: string): string => {
  const destination = o.destination === null ? '' : ` Destination="${o.destination ?? o.acsUrl}"`
  return (
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${newXmlId()}" Version="2.0" ` +
    `IssueInstant="${at(o.now)}"${destination}${request(o.inResponseTo)}>` +
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${o.responseIssuer ?? o.issuer}</saml:Issuer>` +
    `<samlp:Status><samlp:StatusCode Value="${o.status ?? success}"/></samlp:Status>${assertion}</samlp:Response>`
  )
}

export type Algorithms = { signature?: string; digest?: string; c14n?: string }

/** Signs the one element with that local name, as identity providers do: after the issuer. */
export const signElement = (xml: string, element: string, key: SigningKey, algorithms: Algorithms = {}): string => {
  const signer = new SignedXml({
    privateKey: key.privateKey,
    publicCert: key.certificate,
    signatureAlgorithm: algorithms.signature ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: (algorithms.c14n ?? 'http://www.w3.org/2001/10/xml-exc-c14n#') as never,
  })
  const xpath = `//*[local-name(.)='${element}']`
  signer.addReference({
    xpath,
    transforms: [
      'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
      algorithms.c14n ?? 'http://www.w3.org/2001/10/xml-exc-c14n#',
    ],
    digestAlgorithm: algorithms.digest ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
  })
  signer.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `${xpath}/*[local-name(.)='Issuer']`, action: 'after' },
  })
  return signer.getSignedXml()
}

/** A response whose assertion is signed. */
export const signedResponse = (o: AnswerOptions, key: SigningKey, algorithms: Algorithms = {}): string =>
  signElement(responseXml(o, assertionXml(o)), 'Assertion', key, algorithms)

export const encodeResponse = (xml: string): string => Buffer.from(xml).toString('base64')

export type SentRequest = { id: string; xml: string; url: URL }

/** The request in the address that the service sends a browser to. */
export const readSentRequest = (location: string): SentRequest => {
  const url = new URL(location)
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString('utf8')
  return { id: /\bID="([^"]+)"/.exec(xml)?.[1] as string, xml, url }
}

/** Metadata of an identity provider. */
export const idpMetadata = (entityId: string, ssoUrl: string, certificates: string[]): string => {
  const keys = certificates.map((pem) => {
    const bare = pem.replace(/-----[A-Z ]+-----|\s+/g, '')
    return `<KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${bare}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>`
  })
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- published by the tests -->\n' +
    '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" ' +
    `entityID="${entityId}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">` +
    `${keys.join('')}<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${ssoUrl}/post"/>` +
    `<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${ssoUrl}"/>` +
    '</IDPSSODescriptor></EntityDescriptor>'
  )
}
