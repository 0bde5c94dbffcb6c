/** The published attacks on SAML, each against a running service. Every one must sign in nobody. */
import { createHmac, createPublicKey, X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import {
  acsPath,
  answerFor,
  beginSaml,
  idpEntityId,
  idpKey,
  newSamlOrg,
  postResponse,
  ssoBrowser,
} from '../../../test/clients/sso-client.ts'
import {
  type AnswerOptions,
  assertionXml,
  newSigningKey,
  newXmlId,
  responseXml,
  signElement,
  signedResponse,
} from '../../../test/servers/identity-provider.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const org = await newSamlOrg(t)
const other = await newSamlOrg(t)
const victim = `ceo@${org.domain}`
let people = 0
const attacker = (): string => `attacker${++people}@${org.domain}`

const sessions = async (): Promise<number> =>
  (await t.database.sql<{ n: number }>('select count(*)::int as n from sessions where sso_org_id is not null'))[0]
    ?.n as number

type Attack = (answer: AnswerOptions) => string

/** Posts what the attack makes of a browser's own request, and expects that nothing at all happens. */
const expectRefused = async (attack: Attack, path = acsPath(org)): Promise<void> => {
  const who = ssoBrowser(t)
  const answer = answerFor(t, org, attacker(), await beginSaml(who, org))
  const before = await sessions()
  const reply = await postResponse(who, path, attack(answer))
  expect([reply.status, reply.headers.location]).toEqual([302, '/login?error=sso_failed'])
  expect(who.cookie('service_session')).toBeUndefined()
  expect(await sessions()).toBe(before)
  expect(await t.database.sql('select id from users where email = any ($1)', [[answer.email, victim]])).toEqual([])
}

const partOf = (xml: string, name: string): string =>
  new RegExp(`<(\\w+:)?${name}[ >].*?</(\\w+:)?${name}>`, 's').exec(xml)?.[0] as string
const signatureOf = (xml: string): string => partOf(xml, 'Signature')
/** The assertion with another name and id, and without its signature. */
const forged = (assertion: string): string =>
  assertion
    .replace(signatureOf(assertion), '')
    .replace(/ID="[^"]+"/, `ID="${newXmlId()}"`)
    .replace(/>[^<>]+<\/saml:NameID>/, `>${victim}</saml:NameID>`)
const inside = (element: string, tag: string, more: string): string =>
  element.replace(new RegExp(`</${tag}>(?!.*</${tag}>)`, 's'), `${more}</${tag}>`)

/** The genuine response, its assertion and the forged copy. */
const parts = (answer: AnswerOptions) => {
  const genuine = signedResponse(answer, idpKey)
  const assertion = partOf(genuine, 'Assertion')
  return { genuine, assertion, evil: forged(assertion), signature: signatureOf(assertion) }
}
const object = (content: string): string => `<ds:Object>${content}</ds:Object>`

describe('signature wrapping', () => {
  const signedWhole = (answer: AnswerOptions): string => {
    const whole = signElement(responseXml(answer, assertionXml(answer)), 'Response', idpKey)
    return whole
  }
  const evilResponse = (whole: string): string =>
    whole
      .replace(signatureOf(whole), '')
      .replace(/ID="[^"]+"/, `ID="${newXmlId()}"`)
      .replace(/>[^<>]+<\/saml:NameID>/, `>${victim}</saml:NameID>`)

  const variants: Record<string, Attack> = {
    'XSW1 the signed response inside the signature of a forged one': (answer) => {
      const whole = signedWhole(answer)
      const signature = signatureOf(whole)
      const wrapped = inside(signature, 'ds:Signature', whole.replace(signature, ''))
      return inside(evilResponse(whole), 'samlp:Response', wrapped)
    },
    'XSW2 a detached signature before the signed response': (answer) => {
      const whole = signedWhole(answer)
      const signature = signatureOf(whole)
      return inside(evilResponse(whole), 'samlp:Response', signature + whole.replace(signature, ''))
    },
    'XSW3 a forged assertion before the signed one': (answer) => {
      const { genuine, assertion, evil } = parts(answer)
      return genuine.replace(assertion, evil + assertion)
    },
    'XSW4 the signed assertion inside a forged one': (answer) => {
      const { genuine, assertion, evil } = parts(answer)
      return genuine.replace(assertion, inside(evil, 'saml:Assertion', assertion))
    },
    'XSW5 a changed assertion with the signature of the original, which follows it': (answer) => {
      const { genuine, assertion, evil, signature } = parts(answer)
      const withSignature = inside(evil, 'saml:Assertion', signature)
      return genuine.replace(assertion, withSignature + assertion.replace(signature, ''))
    },
    'XSW6 the original inside the signature of a changed assertion': (answer) => {
      const { genuine, assertion, evil, signature } = parts(answer)
      const holding = inside(signature, 'ds:Signature', assertion.replace(signature, ''))
      return genuine.replace(assertion, inside(evil, 'saml:Assertion', holding))
    },
    'XSW7 a forged assertion inside Extensions': (answer) => {
      const { genuine, assertion, evil } = parts(answer)
      return genuine.replace(assertion, `<samlp:Extensions>${evil}</samlp:Extensions>${assertion}`)
    },
    'XSW8 the original inside an Object of the signature of a changed assertion': (answer) => {
      const { genuine, assertion, evil, signature } = parts(answer)
      const holding = inside(signature, 'ds:Signature', object(assertion.replace(signature, '')))
      return genuine.replace(assertion, inside(evil, 'saml:Assertion', holding))
    },
    'with the id of the signed assertion on both': (answer) => {
      const { genuine, assertion, evil } = parts(answer)
      const id = /ID="([^"]+)"/.exec(assertion)?.[1] as string
      return genuine.replace(assertion, evil.replace(/ID="[^"]+"/, `ID="${id}"`) + assertion)
    },
    'with the forged assertion in another namespace': (answer) => {
      const { genuine, assertion, evil } = parts(answer)
      return genuine.replace(assertion, evil.replace('SAML:2.0:assertion"', 'SAML:1.0:assertion"') + assertion)
    },
    'with the signed assertion hidden deeper in the document': (answer) => {
      const { genuine, assertion, evil } = parts(answer)
      return genuine.replace(assertion, evil).replace('<samlp:Status>', `<samlp:Status>${assertion}`)
    },
  }
  test.each(Object.entries(variants))('AD-47 is refused: %s', async (_, attack) => {
    await expectRefused(attack)
  })
})

describe('signatures', () => {
  const stranger = newSigningKey()
  const rsaSha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'
  const sha1 = 'http://www.w3.org/2000/09/xmldsig#sha1'
  const hmac = (answer: AnswerOptions, secret: string): string => {
    const { genuine } = parts(answer)
    const info = partOf(genuine, 'SignedInfo').replace(/xmldsig-more#rsa-sha256/, 'xmldsig-more#hmac-sha256')
    const value = createHmac('sha256', secret).update(info).digest('base64')
    return genuine
      .replace(partOf(genuine, 'SignedInfo'), info)
      .replace(/<ds:SignatureValue>[^<]+</, `<ds:SignatureValue>${value}<`)
  }
  const publicKey = createPublicKey(
    new X509Certificate(idpKey.certificate).publicKey.export({ type: 'spki', format: 'pem' }),
  )
  const cases: Record<string, Attack> = {
    'no signature at all': (answer) => responseXml(answer, assertionXml(answer)),
    'a signature of the response only': (answer) =>
      signElement(responseXml(answer, assertionXml(answer)), 'Response', idpKey),
    'a signature of the subject only': (answer) =>
      responseXml(answer, assertionXml(answer)).replace(
        '<saml:Subject>',
        `${signatureOf(signedResponse(answer, idpKey))}<saml:Subject>`,
      ),
    'the key of a stranger, with its certificate in the signature': (answer) => signedResponse(answer, stranger),
    'RSA with SHA-1': (answer) => signedResponse(answer, idpKey, { signature: rsaSha1 }),
    'a SHA-1 digest': (answer) => signedResponse(answer, idpKey, { digest: sha1 }),
    'canonicalization with comments': (answer) =>
      signedResponse(answer, idpKey, { c14n: 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments' }),
    'an HMAC with the certificate as its secret': (answer) => hmac(answer, idpKey.certificate),
    'an HMAC with the public key as its secret': (answer) =>
      hmac(answer, publicKey.export({ type: 'spki', format: 'pem' }) as string),
    'a changed address under a signature that was right': (answer) =>
      signedResponse(answer, idpKey).replace(answer.email, victim),
    'a changed digest': (answer) =>
      signedResponse(answer, idpKey).replace(/(?<=<ds:DigestValue>)./, (first) => (first === 'A' ? 'B' : 'A')),
    'an empty reference': (answer) => signedResponse(answer, idpKey).replace(/URI="#[^"]+"/, 'URI=""'),
    'two references': (answer) => {
      const xml = signedResponse(answer, idpKey)
      const reference = partOf(xml, 'Reference')
      return xml.replace(reference, reference + reference)
    },
    'an XSLT transform': (answer) =>
      signedResponse(answer, idpKey).replace(
        /http:\/\/www\.w3\.org\/2000\/09\/xmldsig#enveloped-signature/,
        'http://www.w3.org/TR/1999/REC-xslt-19991116',
      ),
    'an encrypted assertion': (answer) =>
      responseXml(answer, '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>'),
    'no assertion': (answer) => responseXml(answer, ''),
    'two genuine assertions': (answer) => {
      const { genuine, assertion } = parts(answer)
      return genuine.replace(assertion, assertion + partOf(signedResponse(answer, idpKey), 'Assertion'))
    },
  }
  test.each(Object.entries(cases))('R-49 AD-47 %s is refused', async (_, attack) => {
    await expectRefused(attack)
  })
})

describe('markup', () => {
  const billion = `<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "${'&a;'.repeat(50)}"><!ENTITY c "${'&b;'.repeat(50)}">]>`
  const cases: Record<string, Attack> = {
    'a comment in the name, which cuts the text for some parsers': (answer) =>
      signedResponse({ ...answer, nameId: `${victim}<!---->.evil.test` }, idpKey),
    'a comment that is put into a signed name': (answer) =>
      signedResponse({ ...answer, nameId: `${victim}.evil.test` }, idpKey).replace(
        `${victim}.evil`,
        `${victim}<!-- -->.evil`,
      ),
    'a processing instruction in the name': (answer) =>
      signedResponse({ ...answer, nameId: `${victim}<?x y?>.evil.test` }, idpKey),
    'a CDATA section in the name': (answer) =>
      signedResponse(answer, idpKey).replace(/>([^<>]+)<\/saml:NameID>/, '><![CDATA[$1]]></saml:NameID>'),
    'an element in the name': (answer) => signedResponse({ ...answer, nameId: `${victim}<x/>.evil.test` }, idpKey),
    'a document type': (answer) => `<!DOCTYPE r>${signedResponse(answer, idpKey)}`,
    'entity expansion': (answer) => `${billion}${signedResponse(answer, idpKey).replace(answer.email, '&c;')}`,
    'an external entity': (answer) =>
      `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>${signedResponse(answer, idpKey).replace(answer.email, '&x;')}`,
    'an undeclared entity': (answer) => signedResponse(answer, idpKey).replace(answer.email, '&nbsp;'),
    'two roots': (answer) => signedResponse(answer, idpKey) + signedResponse(answer, idpKey),
    'deep nesting': (answer) => responseXml(answer, `${'<a>'.repeat(5_000)}${'</a>'.repeat(5_000)}`),
    'very many elements': (answer) => responseXml(answer, '<a/>'.repeat(20_000)),
    'very many attributes': (answer) =>
      responseXml(answer, `<a ${Array.from({ length: 2_000 }, (_, i) => `a${i}="1"`).join(' ')}/>`),
    'very many namespaces': (answer) =>
      responseXml(answer, Array.from({ length: 500 }, (_, i) => `<a xmlns:n${i}="urn:${i}"/>`).join('')),
    'a very long text': (answer) => responseXml(answer, `<a>${'x'.repeat(140_000)}</a>`),
    'text that is not XML': () => 'not xml at all',
    nothing: () => '',
  }
  test.each(Object.entries(cases))('AD-47 %s is refused', async (_, attack) => {
    await expectRefused(attack)
  })

  test('a body over the limit is 413, and one with a field twice is 422', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const big = await ssoBrowser(t).ask('POST', acsPath(org), { raw: `SAMLResponse=${'A'.repeat(270_000)}`, headers })
    expect(big.status).toBe(413)
    const twice = await ssoBrowser(t).ask('POST', acsPath(org), { raw: 'SAMLResponse=a&SAMLResponse=b', headers })
    expect(twice.status).toBe(422)
  })
})

describe('values', () => {
  const minutes = (n: number): Date => new Date(t.service.clock.millis() + n * 60_000)
  const cases: Record<string, Partial<AnswerOptions>> = {
    'another audience': { audience: 'https://other.example.com' },
    'the audience of another org': { audience: `${t.url}/api/auth/saml/metadata?org=${other.slug}` },
    'another recipient': { recipient: `${t.url}/api/auth/saml/acs` },
    'another issuer': { issuer: 'https://idp.evil.test' },
    'another issuer of the response': { responseIssuer: 'https://idp.evil.test' },
    'another destination': { destination: 'https://other.example.com/acs' },
    'no destination': { destination: null },
    'another request': { inResponseTo: newXmlId() },
    'a confirmation of another request': { confirmedRequest: newXmlId() },
    'a confirmation of no request': { confirmedRequest: undefined },
    'no request': { inResponseTo: undefined },
    'an end that passed three minutes ago': { notOnOrAfter: minutes(-3) },
    'a beginning in three minutes': { notBefore: minutes(3) },
    'an issue in three minutes': { now: minutes(3), notBefore: minutes(-1) },
    'an issue two days ago': { now: minutes(-2_880), notBefore: minutes(-2_880), notOnOrAfter: minutes(60) },
    'a status that is not success': { status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' },
    'an unknown condition': { conditions: '<saml:Condition/>' },
    'a name that is no address': { nameId: 'ann' },
    'a name with a display name': { nameId: `Ann &lt;${victim}&gt;` },
    'a persistent name': { format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' },
  }
  test.each(Object.entries(cases))('R-49 AD-47 %s is refused', async (_, change) => {
    await expectRefused((answer) => signedResponse({ ...answer, ...change }, idpKey))
  })

  test('AD-47 a clock that differs by up to two minutes is accepted', async () => {
    const who = ssoBrowser(t)
    const answer = answerFor(t, org, `skewed@${org.domain}`, await beginSaml(who, org))
    const late = { ...answer, notBefore: minutes(-10), notOnOrAfter: new Date(t.service.clock.millis() - 90_000) }
    const reply = await postResponse(who, acsPath(org), signedResponse(late, idpKey))
    expect([reply.status, reply.headers.location]).toEqual([302, '/'])
  })

  test('AD-47 a response for another org is refused, at its own address and at the other', async () => {
    await expectRefused((answer) => signedResponse(answer, idpKey), acsPath(other))
    await expectRefused(
      (answer) => signedResponse({ ...answer, acsUrl: `${t.url}${acsPath(other)}` }, idpKey),
      acsPath(other),
    )
    await expectRefused((answer) => signedResponse({ ...answer, acsUrl: `${t.url}${acsPath(other)}` }, idpKey))
  })

  test('AD-47 a response works once, in the browser that asked for it, within ten minutes', async () => {
    const email = `once@${org.domain}`
    const who = ssoBrowser(t)
    const id = await beginSaml(who, org)
    const cookie = who.cookie('service_oauth') as string
    const xml = signedResponse(answerFor(t, org, email, id), idpKey)
    const location = async (browser: typeof who, response: string) =>
      (await postResponse(browser, acsPath(org), response)).headers.location
    expect(await location(ssoBrowser(t), xml)).toBe('/login?error=sso_failed')
    expect(await location(who, xml)).toBe('/')
    who.setCookie('service_oauth', cookie)
    expect(await location(who, xml)).toBe('/login?error=sso_failed')
    // A second assertion for the same request, which an identity provider never makes.
    who.setCookie('service_oauth', cookie)
    expect(await location(who, signedResponse(answerFor(t, org, email, id), idpKey))).toBe('/login?error=sso_failed')
    const slow = ssoBrowser(t)
    const lateId = await beginSaml(slow, org)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 601 } })
    expect(await location(slow, signedResponse(answerFor(t, org, email, lateId), idpKey))).toBe(
      '/login?error=sso_failed',
    )
  })

  test('AD-47 an assertion id that was seen before is refused for another request', async () => {
    const [first, second] = [ssoBrowser(t), ssoBrowser(t)]
    const assertionId = newXmlId()
    const post = async (who: typeof first) => {
      const answer = answerFor(t, org, `twice@${org.domain}`, await beginSaml(who, org))
      return (await postResponse(who, acsPath(org), signedResponse({ ...answer, assertionId }, idpKey))).headers
        .location
    }
    expect(await post(first)).toBe('/')
    expect(await post(second)).toBe('/login?error=sso_failed')
  })

  test('the other org is not affected by what was used here', async () => {
    const who = ssoBrowser(t)
    const answer = answerFor(t, other, `ann@${other.domain}`, await beginSaml(who, other))
    expect(answer.issuer).toBe(idpEntityId)
    expect((await postResponse(who, acsPath(other), signedResponse(answer, idpKey))).headers.location).toBe('/')
  })
})
