import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { mailedCode } from '../../clients/sign-in-client.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, reload, visit, visitAndCheck } from '../journey.ts'

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
    await reload(page)
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

  test('A new organisation has the slug that its owner chooses, and a taken or malformed one is explained', async () => {
    const { t, org, openAs } = stage()
    const page = await openAs((await addPerson(t, { orgId: org.org.id, role: 'viewer' })).userId)
    await visit(page, '/orgs/new')
    await page.getByLabel('Organisation', { exact: true }).fill('株式会社')
    const slug = page.getByLabel('Slug', { exact: true })
    const create = page.getByRole('button', { name: 'Create organisation' })
    await slug.fill('Not A Slug')
    await create.click()
    await page.getByText('Must be 1 to 48 lower-case letters').waitFor()
    await slug.fill(org.org.slug)
    await create.click()
    await page.getByText('Another organisation already uses this slug').waitFor()
    await expectNoBarriers(page)
    stage().takeFaults()
    await slug.fill('kabushiki')
    await create.click()
    await page.getByRole('button', { name: 'Organisation: 株式会社' }).waitFor()
    const rows = await t.database.sql('select slug from orgs where name = $1', ['株式会社'])
    expect(rows).toEqual([{ slug: 'kabushiki' }])
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

  test('An answer that comes after the person has moved on leaves the next page as it is', async () => {
    const { t, people, again } = stage()
    const cookie = await signIn(t, people.owner.userId)
    const page = await again('owner')
    /** Moves on while the answer to this request is held back, and waits until the dashboard has it. */
    const moveOn = async (method: string, ask: () => Promise<void>, done: string) => {
      const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      await page.route('**/api/internal/**', async (route) => {
        if (route.request().method() !== method) return route.fallback()
        const response = await route.fetch()
        asked.resolve()
        await held.promise
        await route.fulfill({ response })
      })
      await ask()
      await asked.promise
      await goTo(page, '/senders/ips?open=new')
      held.resolve()
      await page.getByText(done).waitFor()
      expect(page.url()).toBe(`${t.url}/senders/ips?open=new`)
      await page.unrouteAll({ behavior: 'wait' })
    }
    const { id } = (await askWith(t, cookie, 'POST', '/api/internal/projects', { body: { name: 'Left behind' } })).body
    await visit(page, `/projects?open=${id}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    const confirm = page.getByRole('dialog', { name: 'Delete Left behind?' })
    await confirm.getByRole('textbox').fill('Left behind')
    await moveOn('DELETE', () => confirm.getByRole('button', { name: 'Delete' }).click(), 'Left behind is deleted')

    await goTo(page, '/audiences?open=audience')
    const form = page.getByRole('dialog', { name: 'New audience' })
    await form.getByLabel('Name').fill('Left readers')
    await moveOn('POST', () => form.getByRole('button', { name: 'New audience' }).click(), 'Left readers is created')
  })

  test('The rail can be narrowed to icons that lead to the same pages, and stays narrow after a reload', async () => {
    const page = await stage().open('developer')
    await visit(page, '/orgs/new')
    await page.getByRole('button', { name: 'Collapse navigation' }).click()
    await page.getByRole('link', { name: 'Senders' }).click()
    await page.getByRole('heading', { name: 'Domains', level: 1 }).waitFor()
    await reload(page)
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
