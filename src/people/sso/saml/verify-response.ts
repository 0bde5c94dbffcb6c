/** Verifies a SAML response. The values it returns come from the signed bytes alone. */
import { isUtf8 } from 'node:buffer'
import { SAML, ValidateInResponseTo } from '@node-saml/node-saml'
import { checkAssertion, type Expected, type ProvenPerson } from './check-assertion.ts'
import { checkStructure, fail, type ResponseEnvelope } from './response-structure.ts'
import { readXml, type XmlElement, XmlFault, type XmlLimits } from './strict-xml.ts'

/**
 * Large enough for a person in 500 groups, each in an attribute of its own and with its own declarations of namespaces.
 * The time that the library takes grows with the square of the number of elements and with the number of attributes. A
 * response with the most of everything takes less than 2 s.
 */
const limits: XmlLimits = {
  maxChars: 180_000,
  maxElements: 1_300,
  maxAttributes: 3_200,
  maxDeclarations: 1_300,
  maxDepth: 24,
  skipRemarks: false,
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

const decode = (samlResponse: string): string => {
  const packed = samlResponse.replace(/\s+/g, '')
  if (packed.length > (limits.maxChars * 4) / 3 + 4) fail('too large')
  if (!base64.test(packed)) fail('not base64')
  const bytes = Buffer.from(packed, 'base64')
  return isUtf8(bytes) ? bytes.toString('utf8') : fail('not utf-8')
}

const read = (xml: string): XmlElement => {
  try {
    return readXml(xml, limits)
  } catch (error) {
    return error instanceof XmlFault ? fail(error.message) : fail('unreadable')
  }
}

/**
 * The library verifies the signatures. Times, audience and ids are judged afterwards with the service's own clock and
 * records, so its own checks of those are off. A signature of the whole response is optional, but it must be right.
 */
const signedAssertion = async (xml: string, certificates: string[], responseSigned: boolean): Promise<string> => {
  const saml = new SAML({
    idpCert: certificates,
    issuer: 'unused',
    callbackUrl: 'https://unused.invalid',
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: responseSigned,
    acceptedClockSkewMs: -1,
    audience: false,
    validateInResponseTo: ValidateInResponseTo.never,
  })
  const SAMLResponse = Buffer.from(xml).toString('base64')
  const { profile } = await saml
    .validatePostResponseAsync({ SAMLResponse })
    // The messages of the library can quote the document.
    .catch(() => ({ profile: undefined }))
  return profile?.getAssertionXml?.() ?? fail('signature not valid')
}

/** `requestIds` has the request of this browser, and undefined where the identity provider may begin a sign-in. */
export type Acceptable = Omit<Expected, 'requestId'> & { requestIds: readonly (string | undefined)[] }

export type VerifiedPerson = ProvenPerson & { requestId: string | undefined }

const checkEnvelope = (envelope: ResponseEnvelope, expected: Acceptable): void => {
  if (envelope.destination !== expected.acsUrl) fail('other destination')
  if (!expected.requestIds.includes(envelope.inResponseTo)) fail('other request')
  if (envelope.issuer !== undefined && envelope.issuer !== expected.issuer) fail('other issuer')
}

/** Throws ResponseFault. Whether the ids in it were used before is for the caller to judge. */
export const verifyResponse = async (
  samlResponse: string,
  certificates: string[],
  expected: Acceptable,
): Promise<VerifiedPerson> => {
  const xml = decode(samlResponse)
  const root = read(xml)
  const envelope = checkStructure(root)
  checkEnvelope(envelope, expected)
  const responseSigned = root.children.some(({ name }) => name === 'Signature')
  const assertion = read(await signedAssertion(xml, certificates, responseSigned))
  const requestId = envelope.inResponseTo
  return { ...checkAssertion(assertion, { ...expected, requestId }), requestId }
}
