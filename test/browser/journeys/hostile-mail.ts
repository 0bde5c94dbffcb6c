import type { Page, Request } from 'playwright-core'
import { expect, test } from 'vitest'
import { trailOf } from '../../audit/trail.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { longestTaskDuring } from '../figures/main-thread.ts'
import { goTo, type Journey, visit } from '../journey.ts'
import { receiveMail } from '../seeds/messages.ts'

const repeat = (text: string, length: number): string => text.repeat(Math.ceil(length / text.length))

/** A received email has at most 10 MB. */
const largest = 10_000_000

const selectors = (count: number): string =>
  Array.from({ length: count }, (_, n) => `* :not(b${n}) ~ p:nth-last-child(2n), p * p${n}`).join(',')

/** What takes longest to read, to style and to lay out. */
const slowMails = [
  `<a ${repeat(`"'style onx`, largest)}`,
  repeat('<div style="display:flex;flex-direction:column">', largest),
  `<table><tr>${repeat(`<td colspan=900 style="${'color:red;'.repeat(200)}">x</td>`, largest)}</tr></table>`,
  `<style>${selectors(20_000)}{color:red}</style>${repeat('&#x301;&#x202e;a<p>x', largest)}`,
]

/** Everything in a mail that makes a browser send a request. */
const requestsTo = (url: string): string => `
  <html manifest="${url}"><head><base href="${url}"><meta http-equiv="refresh" content="0;url=${url}">
  <link rel="stylesheet" href="${url}"><link rel="prefetch" href="${url}"><link rel="icon" href="${url}">
  <style>@import "${url}"; @font-face{font-family:f;src:url(${url})} p{font-family:f;background:url("${url}")}
  p{background:u\\rl(${url})} p{background:image-set("${url}" 1x)} p::after{content:url(${url})}</style></head>
  <body background="${url}" onload="fetch('${url}')">
  <svg><image xlink:href="${url}" /><image href="${url}" /><use href="${url}#a" /><style>@import "${url}"</style></svg>
  <svg><foreignObject><img src="${url}"></foreignObject></svg><math href="${url}"><mglyph src="${url}"></math>
  <video src="${url}" poster="${url}"><source src="${url}"><track src="${url}"></video><audio src="${url}" autoplay></audio>
  <picture><source srcset="${url}"><img srcset="${url} 2x" lowsrc="${url}" dynsrc="${url}"></picture>
  <iframe src="${url}"></iframe><object data="${url}"></object><embed src="${url}"><applet archive="${url}"></applet>
  <input type="image" src="${url}"><form action="${url}"><button autofocus>Send</button></form>
  <table background="${url}"><tr><td background="${url}" style="background-image:url(${url})">A cell</td></tr></table>
  <script src="${url}"></script><script>fetch('${url}')</script><img src="x" onerror="fetch('${url}')">
  <noscript><p title="</noscript><img src=${url}>"></noscript><template><img src="${url}"></template>
  <p style="background:url(${url});list-style:url('${url}')">The last line</p></body></html>`

/** Two pixels wide and one high. */
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNoaAAAAYMBARg1IhUAAAAASUVORK5CYII='

const htmlPart = (html: string): string[] => ['--b', 'Content-Type: text/html', '', html]

const picturePart = (type: string, contentId: string, content: string): string[] => [
  '--b',
  `Content-Type: ${type}`,
  `Content-ID: <${contentId}>`,
  'Content-Transfer-Encoding: base64',
  '',
  content,
]

const drawn = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')

const hostileMailJourneys: Journey = (stage) => {
  const store = (id: string, html: string, text: string) =>
    stage().t.database.sql('update inbound_messages set html = $1, text = $2 where id = $3', [html, text, id])
  const shownMail = 'iframe[title="Body of the received message"][data-shown]'

  test('No mail of any size keeps the page busy for more than 200 ms at a time', async () => {
    const { open } = stage()
    const id = await receiveMail(stage(), 'hostile.acme.test')
    const withPicture = await receiveMail(stage(), 'large-picture.acme.test', [
      ...htmlPart(repeat('<img src="cid:large">', largest / 20)),
      ...picturePart('image/png', 'large', Buffer.alloc(3_700_000, 'large').toString('base64')),
    ])
    const page = await open('owner')
    await visit(page, '/messages?view=inbound')
    const showAll = async () => {
      for (const html of slowMails) {
        await store(id, html, '')
        await goTo(page, `/messages?view=inbound&open=${id}`)
        await page.locator(shownMail).waitFor()
        await drawn(page)
        await goTo(page, '/messages?view=inbound')
      }
      await goTo(page, `/messages?view=inbound&open=${withPicture}`)
      await page.frameLocator(shownMail).locator('img[src^=data]').waitFor()
      await drawn(page)
      await goTo(page, '/messages?view=inbound')
      await store(id, '<p>', repeat('w', largest))
      await goTo(page, `/messages?view=inbound&open=${id}&tab=text`)
      await page.getByText('Only the first 100,000 characters are shown.').waitFor()
      await drawn(page)
      await goTo(page, '/messages?view=inbound')
    }
    const { ms, parts } = await longestTaskDuring(page, 200, showAll)
    expect(ms, parts.join(', ')).toBeLessThan(200)
  })

  test('A mail sends no request to the service, and asks other servers for pictures only when its reader wants them', async () => {
    const { t, org, open, takeFaults } = stage()
    const own = '/api/internal/org/export'
    const receiver = await startReceiver(({ path }, response) =>
      response.writeHead(302, path.endsWith('?picture') ? { location: t.url + own } : {}).end(),
    )
    const elsewhere = receiver.url.replace('127.0.0.1', 'localhost')
    const id = await receiveMail(stage(), 'spying.acme.test')
    const exports = async () =>
      (await trailOf(t.database, org.org.id)).filter(({ action }) => action === 'org.exported').length
    const before = await exports()
    const html = [own, `${t.url}${own}`, `//${new URL(t.url).host}${own}`].map(requestsTo).join('')
    await store(id, `<img src="${elsewhere}?picture" alt="Logo">${html}${requestsTo(elsewhere)}`, '')
    const page = await open('owner')
    const asked: Request[] = []
    page.on('request', (request) => {
      if (request.url().includes(own)) asked.push(request)
    })
    await visit(page, `/messages?view=inbound&open=${id}`)
    const body = page.frameLocator(shownMail)
    await body.getByText('The last line').last().waitFor()
    await drawn(page)
    expect([takeFaults(), receiver.got]).toEqual([[], []])

    await page.getByRole('button', { name: 'Show remote images' }).click()
    await body.getByText('The last line').last().waitFor()
    await expect.poll(() => receiver.got.map(({ path }) => path)).toContain('/hook?picture')
    for (const { headers } of receiver.got) {
      expect([headers.cookie, headers.referer, headers['sec-fetch-dest']]).toEqual([undefined, undefined, 'image'])
    }
    // Only a server can send the browser there, and it goes without the session.
    await expect.poll(() => asked.map((request) => request.redirectedFrom()?.url())).toEqual([`${elsewhere}?picture`])
    expect((await asked[0]?.allHeaders())?.cookie).toBeUndefined()
    expect(new Set(takeFaults())).toEqual(
      new Set([`${page.url()} requests ${elsewhere}`, `${page.url()} requests ${elsewhere}?picture`]),
    )
    expect(await exports()).toBe(before)
    await receiver.stop()
  })

  test('The pictures that a mail brings along are shown, and the frame requests none of them', async () => {
    const { open, takeFaults } = stage()
    const id = await receiveMail(stage(), 'pictures.acme.test', [
      ...htmlPart(`<img src="cid:logo%40acme" alt="Logo"><img src="cid:missing" alt="Missing"><img src="cid:drawing" alt="Drawing">
       <p style="background:url(cid:logo%40acme)">The last line</p>`),
      ...picturePart('image/png', 'logo@acme', picture),
      ...picturePart(
        'image/svg+xml',
        'drawing',
        Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64'),
      ),
      ...picturePart('image/png', 'unused', picture),
    ])
    const page = await open('owner')
    const files: string[] = []
    const byFrame: string[] = []
    page.on('request', (request) => {
      const { pathname, protocol } = new URL(request.url())
      if (pathname.includes('/attachments/')) files.push(pathname)
      if (!request.isNavigationRequest() && protocol !== 'data:' && request.frame() !== page.mainFrame()) {
        byFrame.push(request.url())
      }
    })
    await visit(page, `/messages?view=inbound&open=${id}`)
    const body = page.frameLocator(shownMail)
    const sizeOf = (alt: string) =>
      body.getByAltText(alt).evaluate((image) => {
        const { naturalWidth, naturalHeight } = image as unknown as { naturalWidth: number; naturalHeight: number }
        return [naturalWidth, naturalHeight]
      })
    await expect.poll(() => sizeOf('Logo')).toEqual([2, 1])
    expect([await sizeOf('Missing'), await sizeOf('Drawing')]).toEqual([
      [0, 0],
      [0, 0],
    ])
    expect(await body.getByText('The last line').getAttribute('style')).toBe(
      `background:url("data:image/png;base64,${picture}")`,
    )
    expect(files).toEqual([`/api/internal/inbound-emails/${id}/attachments/0`])
    expect([byFrame, takeFaults()]).toEqual([[], []])
  })
}

export default hostileMailJourneys
