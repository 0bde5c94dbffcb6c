import { expect, test } from 'vitest'
import { newId } from '../ground/ids.ts'
import { longestTrackedUrl, makeLinks } from './links.ts'
import { makeTokens, type UnsubscribeRef } from './tokens.ts'

const tokens = makeTokens({ masterKey: Buffer.alloc(32), previous: [] })
let base = 'https://mail.example'
const links = makeLinks({ tokens, baseUrl: () => base })

const orgId = newId('org')
const ann = { orgId, messageId: newId('message') }
const bob = { orgId, messageId: newId('message') }
const unsubscribeRef: UnsubscribeRef = {
  orgId,
  tenantId: newId('tenant'),
  environment: 'live',
  address: 'ann@example.com',
  messageId: ann.messageId,
}

const tokenIn = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
const page = 'https://shop.example/?a=1&b=2'
const html = `<body><a href="https://shop.example/?a=1&amp;b=2">Shop</a></body>`
const both = { trackOpens: true, trackClicks: true, unsubscribeUrl: null }
const parts =
  /^<body><a href="https:\/\/mail\.example\/t\/c\/([\w-]+)">Shop<\/a><img src="https:\/\/mail\.example\/t\/o\/([\w-]+)"[^>]+><\/body>$/

test("S-420 SD-111 the links and the pixel in each recipient's body refer to its own message", () => {
  for (const message of [ann, bob]) {
    const [, click = '', open = ''] = links.track(html, { ...message, ...both }).match(parts) ?? []
    expect(tokens.click.read(click)).toEqual({ ...message, url: page })
    expect(tokens.open.read(open)).toEqual(message)
  }
})

test('S-422 opens and clicks are tracked independently', () => {
  const tracked = (trackOpens: boolean, trackClicks: boolean) =>
    links.track(html, { ...ann, trackOpens, trackClicks, unsubscribeUrl: null })
  expect(tracked(false, false)).toBe(html)
  expect([tracked(true, false).includes('/t/o/'), tracked(true, false).includes('/t/c/')]).toEqual([true, false])
  expect([tracked(false, true).includes('/t/o/'), tracked(false, true).includes('/t/c/')]).toEqual([false, true])
})

test('S-421 an unsubscribe link of the service or of the sender is never wrapped', () => {
  const own = links.unsubscribeUrl(unsubscribeRef)
  const external = 'https://shop.example/leave?a=1'
  const mail = `<a href="${own}">x</a><a href='${external}'>y</a>`
  const track = (unsubscribeUrl: string | null) =>
    links.track(mail, { ...ann, trackOpens: false, trackClicks: true, unsubscribeUrl })
  expect(track(external)).toBe(mail)
  expect(track(own)).toMatch(
    /^<a href="https:\/\/mail\.example\/u\/[\w-]+">x<\/a><a href='https:\/\/mail\.example\/t\/c\//,
  )
  expect(track(null)).toBe(track(own))
})

test('S-423 an unsubscribe link is signed for one recipient', () => {
  const other = links.unsubscribeUrl({ ...unsubscribeRef, address: 'bob@example.com' })
  expect(other).not.toBe(links.unsubscribeUrl(unsubscribeRef))
  expect(tokens.unsubscribe.read(tokenIn(other))).toEqual({ ...unsubscribeRef, address: 'bob@example.com' })
})

test('SD-33 the List-Unsubscribe headers contain the link in angle brackets and the one-click value', () => {
  expect(links.listUnsubscribe(unsubscribeRef)).toEqual({
    'List-Unsubscribe': `<${links.unsubscribeUrl(unsubscribeRef)}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  })
})

test('a link that is too long is not wrapped', () => {
  const url = (length: number) => `https://shop.example/${'x'.repeat(length - 21)}`
  const mail = (length: number) => `<a href="${url(length)}">x</a>`
  const track = (length: number) =>
    links.track(mail(length), { ...ann, trackOpens: false, trackClicks: true, unsubscribeUrl: null })
  expect(track(longestTrackedUrl)).toMatch(/^<a href="https:\/\/mail\.example\/t\/c\/[\w-]+">x<\/a>$/)
  expect(track(longestTrackedUrl + 1)).toBe(mail(longestTrackedUrl + 1))
  expect(links.clickUrl(ann, url(longestTrackedUrl + 1))).toBe(url(longestTrackedUrl + 1))
})

test('the public URL is read at each use', () => {
  base = 'http://127.0.0.1:4321'
  expect(links.openUrl(ann)).toMatch(/^http:\/\/127\.0\.0\.1:4321\/t\/o\/[\w-]{64}$/)
  base = 'https://mail.example'
})
