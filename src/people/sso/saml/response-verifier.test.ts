import { afterAll, expect, onTestFinished, test } from 'vitest'
import {
  assertionXml,
  encodeResponse,
  newSigningKey,
  responseXml,
  signElement,
} from '../../../../test/servers/identity-provider.ts'
import { makeResponseVerifier, type ResponseToVerify } from './response-verifier.ts'

const verifierWith = (options: Parameters<typeof makeResponseVerifier>[0] = {}) => {
  const verifier = makeResponseVerifier(options)
  onTestFinished(() => verifier.close())
  return verifier
}

/** Starting a thread is slow, so the tests that do not end it share one. */
const shared = makeResponseVerifier()
afterAll(() => shared.close())

const key = newSigningKey()
const now = new Date()
const acsUrl = 'https://service.example.com/acs'
const answer = { email: 'ann@example.com', issuer: 'https://idp.example.com', audience: 'service', acsUrl, now }
const expected = { issuer: answer.issuer, audience: 'service', acsUrl, requestIds: [undefined], now: now.getTime() }
const end = '</saml:Assertion>'

const responseOf = (xml: string, certificates = [key.certificate]): ResponseToVerify => ({
  samlResponse: encodeResponse(xml),
  certificates,
  expected,
})

/** As Okta writes it: an attribute for each group, and every value declares its namespaces. */
const group = (i: number): string =>
  `<saml:Attribute Name="group-${i}" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:basic">` +
  '<saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" ' +
  `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">g${i}</saml:AttributeValue></saml:Attribute>`

const repeat = (n: number, part: (i: number) => string): string => Array.from({ length: n }, (_, i) => part(i)).join('')

const signed = (more = ''): string =>
  signElement(responseXml(answer, assertionXml(answer).replace(end, more + end)), 'Assertion', key)

test('AD-47 a person in 500 groups is verified, and the thread runs only from the first response to the end', async () => {
  const verifier = verifierWith()
  expect(verifier.isRunning()).toBe(false)
  const groups = `<saml:AttributeStatement>${repeat(500, group)}</saml:AttributeStatement>`
  const person = await verifier.verify('org_a', responseOf(signed(groups)))
  expect(person).toMatchObject({ email: 'ann@example.com', requestId: undefined })
  expect(verifier.isRunning()).toBe(true)
  await verifier.close()
  expect(verifier.isRunning()).toBe(false)
})

test('AD-47 a response that is padded to the limits is refused, and other work goes on meanwhile', async () => {
  const { verify } = verifierWith({ deadlineMs: 25_000 })
  const padded = signed().replace(end, repeat(1_260, (i) => `<n${i}:a xmlns:n${i}="u:${i}" n${i}:b="1"/>t`) + end)
  const stranger = newSigningKey().certificate
  // The thread has started, so only the verification is counted.
  await verify('org_a', responseOf(signed()))
  let ticks = 0
  const timer = setInterval(() => ticks++, 5)
  await expect(verify('org_a', responseOf(padded, [stranger]))).rejects.toThrow('signature not valid')
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(5)
})

test.each([
  ['too many elements', repeat(1_300, () => '<a/>')],
  ['too many attributes', repeat(120, () => `<a ${repeat(30, (i) => `a${i}="1" `)}/>`)],
  ['too many namespaces', repeat(651, () => '<a xmlns:x="u:x" xmlns:y="u:y"/>')],
  ['too many namespaces', `<a ${repeat(25, (i) => `xmlns:n${i}="u:${i}" `)}/>`],
  ['too large', 'x'.repeat(180_000)],
])('AD-47 a response over the limits is refused: %s', async (reason, padding) => {
  const xml = responseXml(answer, assertionXml(answer).replace(end, padding + end))
  await expect(shared.verify('org_a', responseOf(xml))).rejects.toThrow(reason)
})

/** A program that reports the text as the address, or never finishes, or ends. */
const program = new URL(
  `data:text/javascript,${encodeURIComponent(`
import { parentPort } from 'node:worker_threads'
parentPort.on('message', ({ samlResponse }) => {
  if (samlResponse === 'endless') for (;;);
  if (samlResponse === 'ends') process.exit(1)
  parentPort.postMessage({ person: { email: samlResponse } })
})
parentPort.postMessage('ready')`)}`,
)
const textOf = (samlResponse: string): ResponseToVerify => ({ samlResponse, certificates: [], expected })

test('A response that takes too long or ends its thread is refused, and the next one gets a new thread', async () => {
  const { verify } = verifierWith({ program, deadlineMs: 1_000 })
  const verdicts = ['endless', 'a', 'ends', 'b'].map((text) => verify('org_a', textOf(text)))
  expect(await Promise.allSettled(verdicts)).toMatchObject([
    { status: 'rejected', reason: { message: 'takes too long' } },
    { status: 'fulfilled', value: { email: 'a' } },
    { status: 'rejected', reason: { message: 'needs too much memory' } },
    { status: 'fulfilled', value: { email: 'b' } },
  ])
})

test('A full queue is UNAVAILABLE for the org or for all, and orgs take turns', async () => {
  const { verify } = verifierWith({ program, maxWaiting: 3, maxWaitingOfOrg: 2 })
  const order: string[] = []
  const run = (orgId: string, text: string) => verify(orgId, textOf(text)).then(({ email }) => order.push(email))
  const full = { code: 'UNAVAILABLE', detail: { retryAfter: 5 } }
  const accepted = ['a1', 'a2', 'a3'].map((text) => run('org_a', text))
  await expect(run('org_a', 'a4')).rejects.toMatchObject(full)
  accepted.push(run('org_b', 'b1'))
  await expect(run('org_c', 'c1')).rejects.toMatchObject(full)
  await Promise.all(accepted)
  expect(order).toEqual(['a1', 'b1', 'a2', 'a3'])
})

test('A thread that cannot start is an error and not a refusal', async () => {
  const { verify } = verifierWith({ program: new URL('data:text/javascript,throw new Error("broken")') })
  await expect(verify('org_a', textOf('a'))).rejects.toThrow('ended while it started')
})
