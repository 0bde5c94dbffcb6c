import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { expectNoBarriers } from '../axe.ts'
import type { Journey } from '../journey.ts'

/** These pages follow the theme of the device. With SCREENSHOTS set, pictures are taken too. */
const checkPage = async (page: Page, name: string): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectNoBarriers(page)
    for (const width of process.env.SCREENSHOTS ? [390, 1280] : []) {
      await page.setViewportSize({ width, height: 800 })
      const path = join(process.env.SCREENSHOTS as string, `public-${name}-${width}-${colorScheme}.png`)
      await page.screenshot({ path })
    }
  }
}

const publicPageJourneys: Journey = (stage) => {
  test('A recipient unsubscribes on a page, and finds it done', async () => {
    const { t, org, open } = stage()
    const address = `reader-${Date.now()}@example.test`
    const ref = { orgId: org.org.id, tenantId: null, environment: 'live', messageId: null, address } as const
    const link = t.service.modules.links.unsubscribeUrl(ref)
    const page = await open(null, { width: 390 })
    await page.goto(link)
    await page.getByText('Do you want to stop receiving mailings from Acme Mail').waitFor()
    await checkPage(page, 'unsubscribe')
    await page.getByRole('button', { name: 'Unsubscribe' }).click()
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    await checkPage(page, 'unsubscribed')
    const found = await t.ask('GET', `/api/v1/suppressions?value=${address}`, { key: org.keys.live })
    expect(found.body.data).toMatchObject([{ value: address, reason: 'unsubscribe' }])
    await page.goto(link)
    await page.getByRole('heading', { name: 'You are already unsubscribed' }).waitFor()
    await page.goto(link.slice(0, -4))
    await page.getByRole('heading', { name: 'This link is not valid' }).waitFor()
    await checkPage(page, 'invalid-link')
    // The browser reports the status of a page that it shows.
    stage().takeFaults()
  })

  test('An unknown OAuth client and the checkout of development have pages in the same look', async () => {
    const { t, open } = stage()
    const page = await open(null)
    await page.goto('/api/oauth/authorize?client_id=nobody&redirect_uri=https://evil.example')
    await page.getByRole('heading', { name: 'This request cannot be answered' }).waitFor()
    await checkPage(page, 'oauth')
    stage().takeFaults()
    const { org } = await t.org({ name: 'Frugal Works', plan: 'free' })
    const cookie = await signIn(t, (await addPerson(t, { orgId: org.id })).userId)
    const { body } = await askWith(t, cookie, 'POST', '/api/internal/billing', { body: { plan: 'pro' } })
    await page.goto(body.checkout_url)
    await page.getByRole('button', { name: 'Pay' }).waitFor()
    await checkPage(page, 'checkout')
  })
}

export default publicPageJourneys
