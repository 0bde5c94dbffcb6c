import { expect, test } from 'vitest'
import { addPerson } from '../../clients/people.ts'
import { mailedCode } from '../../clients/sign-in-client.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, visit, visitAndCheck } from '../journey.ts'

const shellJourneys: Journey = (stage) => {
  test('An unknown address says so, and the command palette finds a page and goes there with the keyboard', async () => {
    const page = await stage().open('owner')
    await visitAndCheck(page, '/no/such/page')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await goTo(page, '/orgs/new')
    await page.keyboard.press('Control+k')
    const input = page.getByRole('combobox')
    await input.waitFor()
    await expectNoBarriers(page)
    await input.fill('overv')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('Test mode shows a strip on every page and stays after a reload', async () => {
    const page = await stage().open('developer')
    await visit(page, '/')
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('Test mode: nothing is delivered').waitFor()
    await expectNoBarriers(page)
    await page.reload()
    await page.getByText('Test mode: nothing is delivered').waitFor()
  })

  test('A lost connection shows a strip, and it goes once the service answers', async () => {
    const page = await stage().open('owner')
    await visit(page, '/orgs/new')
    await page.getByLabel('Organisation', { exact: true }).fill('Typed and kept')
    await page.route('**/api/**', (route) => route.abort())
    await page.getByRole('button', { name: 'Create organisation' }).click()
    await page.getByText('tries again by itself').waitFor()
    await page.unroute('**/api/**')
    await page.getByText('tries again by itself').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Organisation', { exact: true }).inputValue()).toBe('Typed and kept')
    stage().takeFaults()
  })

  test('After an upgrade an open page loads the new build, and a page that cannot be loaded says so and is tried again', async () => {
    const page = await stage().open('owner')
    await visit(page, '/orgs/new')
    // The service is away for a moment: nothing is loaded again.
    await page.route('**/assets/**', (route) => route.abort())
    await page.getByRole('link', { name: 'Suppressions' }).click()
    await page.getByText('The service did not answer').waitFor()
    await page.unroute('**/assets/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Suppressions', level: 1 }).waitFor()
    await goTo(page, '/settings/organisation')

    // Another build has other names, and those of this one are gone until the page asks which build there is.
    await page.route('**/assets/**', (route) => route.fulfill({ status: 404 }))
    await page.route(
      (url) => url.pathname === '/',
      async (route) => {
        await page.unroute('**/assets/**')
        const response = await route.fetch()
        const body = (await response.text()).replace(/index-[\w-]+\.js/, 'index-newer.js')
        await route.fulfill({ response, body })
      },
    )
    const loadedAgain = page.waitForEvent('load')
    await page.getByRole('link', { name: 'Audit log' }).click()
    await loadedAgain
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor()
    stage().takeFaults()
  })

  test('The rail can be narrowed to icons that lead to the same pages, and stays narrow after a reload', async () => {
    const page = await stage().open('developer')
    await visit(page, '/orgs/new')
    await page.getByRole('button', { name: 'Collapse navigation' }).click()
    await page.getByRole('link', { name: 'Senders' }).click()
    await page.getByRole('heading', { name: 'Domains', level: 1 }).waitFor()
    await page.reload()
    expect(await page.getByRole('link', { name: 'Senders' }).getAttribute('aria-current')).toBe('page')
    await expectNoBarriers(page)
    await page.getByRole('button', { name: 'Expand navigation' }).click()
    await page.getByRole('link', { name: 'Numbers and sender ids' }).waitFor()
  })

  test('A suspended organisation shows the reason of the operator on every page', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Paused Works' })
    const { userId } = await addPerson(t, { orgId: org.id })
    await t.database.sql(
      `update orgs set suspended_at = created_at, suspension_reason = 'Unpaid since May' where id = $1`,
      [org.id],
    )
    const page = await openAs(userId)
    await visit(page, '/')
    for (const path of ['/', '/tenants', '/settings/billing']) {
      await goTo(page, path)
      await page.getByRole('status').getByText('The operator gave this reason: Unpaid since May').waitFor()
    }
    await expectNoBarriers(page)
  })

  test('A violation of the security policy and an error in the console would fail a journey', async () => {
    const page = await stage().open('viewer')
    await visit(page, '/orgs/new')
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { text: 'window.ran = 1' }))`,
    )
    await page.evaluate(`console.error('Something broke')`)
    const faults: string[] = []
    await expect.poll(() => faults.push(...stage().takeFaults())).toBe(2)
    expect(faults).toEqual([
      expect.stringContaining('Content Security Policy'),
      expect.stringContaining('Something broke'),
    ])
    expect(await page.evaluate('window.ran')).toBeUndefined()
  })

  test('A session that ends asks to sign in again in place, and the request then succeeds', async () => {
    const { t, people, password, open } = stage()
    const page = await open('member')
    await visit(page, '/orgs/new')
    const name = page.getByLabel('Organisation', { exact: true })
    await name.fill('After the pause')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Create organisation' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByLabel('Email address').fill(people.member.email)
    await dialog.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    const code = dialog.getByLabel('Code', { exact: true })
    await code.waitFor()
    await code.fill(await mailedCode(t, people.member.email))
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Organisation: After the pause' }).waitFor()
  })
}

export default shellJourneys
