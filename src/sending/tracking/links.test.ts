import { expect, test } from 'vitest'
import { newId } from '../../platform/ground/ids.ts'
import { type LinkedMessage, type LinkOptions, makeLinks } from './links.ts'
import { makeTokens, type UnsubscribeRef } from './tokens.ts'
import { longestTrackedUrl } from './web-url.ts'

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

type Tracked = LinkedMessage & Omit<LinkOptions, 'unsubscribeTag'>
const track = async (html: string, { trackOpens, trackClicks, ...recipient }: Tracked): Promise<string> =>
  links.write(await links.read(html, { trackOpens, trackClicks, unsubscribeTag: null }), recipient)

const tokenIn = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
const page = 'https://shop.example/?a=1&b=2'
const html = `<body><a href="https://shop.example/?a=1&amp;b=2">Shop</a></body>`
const both = { trackOpens: true, trackClicks: true, unsubscribeUrl: null }
const parts =
  /^<body><a href="https:\/\/mail\.example\/t\/c\/([\w-]+)">Shop<\/a><img src="https:\/\/mail\.example\/t\/o\/([\w-]+)"[^>]+><\/body>$/

test("S-420 SD-111 the links and the pixel in each recipient's body refer to its own message", async () => {
  const readOnce = await links.read(html, { trackOpens: true, trackClicks: true, unsubscribeTag: null })
  for (const message of [ann, bob]) {
    const written = await links.write(readOnce, { ...message, unsubscribeUrl: null })
    expect(written).toBe(await track(html, { ...message, ...both }))
    const [, click = '', open = ''] = written.match(parts) ?? []
    expect(tokens.click.read(click)).toEqual({ ...message, url: page })
    expect(tokens.open.read(open)).toEqual(message)
  }
})

test('S-422 opens and clicks are tracked independently', async () => {
  const tracked = (trackOpens: boolean, trackClicks: boolean) =>
    track(html, { ...ann, trackOpens, trackClicks, unsubscribeUrl: null })
  expect(await tracked(false, false)).toBe(html)
  const [opens, clicks] = [await tracked(true, false), await tracked(false, true)]
  expect([opens.includes('/t/o/'), opens.includes('/t/c/')]).toEqual([true, false])
  expect([clicks.includes('/t/o/'), clicks.includes('/t/c/')]).toEqual([false, true])
})

test('S-421 an unsubscribe link of the service or of the sender is never wrapped', async () => {
  const own = links.unsubscribeUrl(unsubscribeRef)
  const external = 'https://shop.example/leave?a=1'
  const mail = `<a href="${own}">x</a><a href='${external}'>y</a>`
  const tracked = (unsubscribeUrl: string | null) =>
    track(mail, { ...ann, trackOpens: false, trackClicks: true, unsubscribeUrl })
  expect(await tracked(external)).toBe(mail)
  expect(await tracked(own)).toMatch(
    /^<a href="https:\/\/mail\.example\/u\/[\w-]+">x<\/a><a href='https:\/\/mail\.example\/t\/c\//,
  )
  expect(await tracked(null)).toBe(await tracked(own))
})

test('S-423 an unsubscribe link is signed for one recipient', () => {
  const other = links.unsubscribeUrl({ ...unsubscribeRef, address: 'bob@example.com' })
  expect(other).not.toBe(links.unsubscribeUrl(unsubscribeRef))
  expect(tokens.unsubscribe.read(tokenIn(other))).toEqual({ ...unsubscribeRef, address: 'bob@example.com' })
})

test('SD-33 the List-Unsubscribe headers contain the link in angle brackets and the one-click value', () => {
  expect(links.listUnsubscribe(links.unsubscribeUrl(unsubscribeRef))).toEqual({
    'List-Unsubscribe': `<${links.unsubscribeUrl(unsubscribeRef)}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  })
})

test('a link that is too long is not wrapped', async () => {
  const url = (length: number) => `https://shop.example/${'x'.repeat(length - 21)}`
  const mail = (length: number) => `<a href="${url(length)}">x</a>`
  const tracked = (length: number) =>
    track(mail(length), { ...ann, trackOpens: false, trackClicks: true, unsubscribeUrl: null })
  expect(await tracked(longestTrackedUrl)).toMatch(/^<a href="https:\/\/mail\.example\/t\/c\/[\w-]+">x<\/a>$/)
  expect(await tracked(longestTrackedUrl + 1)).toBe(mail(longestTrackedUrl + 1))
  expect(links.clickUrl(ann, url(longestTrackedUrl + 1))).toBe(url(longestTrackedUrl + 1))
})

test('the public URL is read at each use', () => {
  base = 'http://127.0.0.1:4321'
  expect(links.openUrl(ann)).toMatch(/^http:\/\/127\.0\.0\.1:4321\/t\/o\/[\w-]{64}$/)
  base = 'https://mail.example'
})
