/** Judges the signed assertion: for whom it is, who made it, when it holds, and whom it names. */
import { comparableAddress } from '../../../platform/ground/mailbox.ts'
import { fail, only } from './response-structure.ts'
import { assertionNs, bearerMethod, emailFormat, unspecifiedFormat } from './saml-names.ts'
import { childrenNamed, type XmlElement } from './strict-xml.ts'

export type Expected = {
  issuer: string
  /** The entity id of this service. */
  audience: string
  /** The address that the response was posted to. */
  acsUrl: string
  /** The request that is answered, or undefined if the identity provider began the sign-in. */
  requestId: string | undefined
  now: number
}

const skewMs = 2 * 60_000
/** Whatever the identity provider says, an assertion serves a sign-in and not a day's work. */
const longestLifeMs = 24 * 3_600_000

const instantPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

const instantOf = (element: XmlElement, name: string): number | undefined => {
  const text = element.attributes.get(name)
  if (text === undefined) return undefined
  const at = instantPattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? fail('invalid time') : at
}

/** Returns until when the element holds, if it says so. */
const checkTimes = (element: XmlElement, now: number): number | undefined => {
  const from = instantOf(element, 'NotBefore')
  const until = instantOf(element, 'NotOnOrAfter')
  if (from !== undefined && now + skewMs < from) fail('not yet valid')
  if (until !== undefined && now - skewMs >= until) fail('expired')
  return until
}

const checkAudience = (conditions: XmlElement, audience: string): void => {
  const restrictions = childrenNamed(conditions, assertionNs, 'AudienceRestriction')
  if (restrictions.length === 0) fail('no audience')
  for (const restriction of restrictions) {
    const names = childrenNamed(restriction, assertionNs, 'Audience').map(({ text }) => text.trim())
    if (!names.includes(audience)) fail('other audience')
  }
}

const knownConditions = new Set(['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'])

const checkConditions = (assertion: XmlElement, { audience, now }: Expected): number | undefined => {
  const conditions = only(childrenNamed(assertion, assertionNs, 'Conditions'), 'set of conditions')
  // A condition that is not understood cannot be met.
  if (conditions.children.some(({ name }) => !knownConditions.has(name))) fail('unknown condition')
  checkAudience(conditions, audience)
  return checkTimes(conditions, now)
}

const checkConfirmation = (subject: XmlElement, { acsUrl, requestId, now }: Expected): number => {
  const bearers = childrenNamed(subject, assertionNs, 'SubjectConfirmation').filter(
    ({ attributes }) => attributes.get('Method') === bearerMethod,
  )
  const data = only(
    childrenNamed(only(bearers, 'bearer confirmation'), assertionNs, 'SubjectConfirmationData'),
    'bearer confirmation',
  )
  if (data.attributes.get('Recipient') !== acsUrl) fail('other recipient')
  if (data.attributes.get('InResponseTo') !== requestId) fail('other request')
  return checkTimes(data, now) ?? fail('no end of the confirmation')
}

const checkStatements = (assertion: XmlElement, now: number): void => {
  const statements = childrenNamed(assertion, assertionNs, 'AuthnStatement')
  if (statements.length === 0) fail('no authentication')
  for (const statement of statements) {
    const end = instantOf(statement, 'SessionNotOnOrAfter')
    if (end !== undefined && now - skewMs >= end) fail('expired')
  }
}

const addressFormats = new Set([undefined, emailFormat, unspecifiedFormat])

const addressIn = (subject: XmlElement): string => {
  const nameId = only(childrenNamed(subject, assertionNs, 'NameID'), 'name')
  const text = nameId.text.trim()
  if (nameId.children.length > 0 || !addressFormats.has(nameId.attributes.get('Format'))) fail('name is not an address')
  // A text with a display name is another notation of an address, which no identity provider uses.
  const address = text.includes('<') ? undefined : comparableAddress(text)
  return address ?? fail('name is not an address')
}

const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/'
const wholeNames = ['displayName', 'http://schemas.microsoft.com/identity/claims/displayname', 'cn', 'urn:oid:2.5.4.3']
const givenNames = ['givenName', 'firstName', 'FirstName', 'first_name', `${claims}givenname`, 'urn:oid:2.5.4.42']
const familyNames = ['surname', 'sn', 'lastName', 'LastName', 'last_name', `${claims}surname`, 'urn:oid:2.5.4.4']

const nameIn = (assertion: XmlElement): string => {
  const values = new Map<string, string>()
  for (const statement of childrenNamed(assertion, assertionNs, 'AttributeStatement')) {
    for (const attribute of childrenNamed(statement, assertionNs, 'Attribute')) {
      const [value] = childrenNamed(attribute, assertionNs, 'AttributeValue')
      values.set(attribute.attributes.get('Name') ?? '', value?.text.trim() ?? '')
    }
  }
  const first = (names: string[]): string =>
    names.map((name) => values.get(name) ?? '').find((text) => text !== '') ?? ''
  return first(wholeNames) || `${first(givenNames)} ${first(familyNames)}`.trim()
}

export const checkAssertion = (assertion: XmlElement, expected: Expected) => {
  if (assertion.name !== 'Assertion' || assertion.namespace !== assertionNs) fail('not an assertion')
  const issuer = only(childrenNamed(assertion, assertionNs, 'Issuer'), 'issuer').text.trim()
  if (issuer !== expected.issuer) fail('other issuer')
  const issuedAt = instantOf(assertion, 'IssueInstant') ?? fail('no time')
  if (issuedAt > expected.now + skewMs) fail('not yet valid')
  if (issuedAt + longestLifeMs <= expected.now) fail('expired')
  const subject = only(childrenNamed(assertion, assertionNs, 'Subject'), 'subject')
  const ends = [
    checkConfirmation(subject, expected),
    checkConditions(assertion, expected) ?? Number.POSITIVE_INFINITY,
    issuedAt + longestLifeMs,
  ]
  checkStatements(assertion, expected.now)
  return {
    email: addressIn(subject),
    name: nameIn(assertion),
    assertionId: assertion.attributes.get('ID') ?? fail('no id'),
    /** After this time the assertion is refused anyway. */
    expiresAt: Math.min(...ends) + skewMs,
  }
}

export type ProvenPerson = ReturnType<typeof checkAssertion>
