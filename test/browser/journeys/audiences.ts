import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { expectNoBarriers } from '../axe.ts'
import { type Journey, visit } from '../journey.ts'

const audienceJourneys: Journey = (stage) => {
  test('A long list keeps ten pages and brings back those before', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Long lists' })
    await t.database.sql(
      `insert into contacts (org_id, id, created_environment, email, created_at, updated_at)
       select $1, 'con_' || lpad(n::text, 26, '0'), 'live', 'reader' || n || '@example.com',
         $2::timestamptz - n * interval '1 second', $2
       from generate_series(1, 1100) as n`,
      [org.id, t.service.clock.now()],
    )
    const page = await openAs((await addPerson(t, { orgId: org.id, role: 'viewer' })).userId)
    await visit(page, '/audiences?tab=contacts')
    const rows = page.locator('tbody tr')
    const before = page.getByRole('button', { name: 'Load the rows before' })
    for (let loaded = 200; loaded <= 1_100; loaded += 100) {
      expect(await before.count()).toBe(0)
      await page.getByRole('button', { name: 'Load more' }).click()
      await page.getByText(`reader${loaded}@example.com`).waitFor()
    }
    expect([await rows.count(), await rows.first().textContent()]).toEqual([
      1_000,
      expect.stringContaining('reader101@'),
    ])
    await before.click()
    await page.getByText('reader1@example.com').waitFor()
    expect([await rows.count(), await before.count()]).toEqual([1_000, 0])
  })

  test('A developer makes an audience, imports a CSV file with mapped columns, searches, removes with undo and deletes', async () => {
    const { t, people, again } = stage()
    const cookie = await signIn(t, people.developer.userId)
    const read = async (path: string) => (await askWith(t, cookie, 'GET', path)).body
    const page = await again('developer')
    await visit(page, '/audiences?open=audience')
    const dialog = page.getByRole('dialog', { name: 'New audience' })
    await dialog.getByRole('button', { name: 'New audience' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Name').fill('Journey readers')
    await dialog.getByRole('button', { name: 'New audience' }).click()
    await page.getByText('Journey readers is created').waitFor()
    expect(await page.getByRole('heading', { name: 'is created' }).count()).toBe(0)
    await page.getByRole('heading', { name: 'Journey readers' }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1) as string
    expect(await read(`/api/internal/audiences?id=${id}`)).toMatchObject({ slug: 'journey-readers', member_count: 0 })

    await page.getByRole('tab', { name: 'Import' }).click()
    const csv = 'E-Mail;x,plan,who\r\nzoe@example.test,pro,Zoe Quick\r\n,pro,Nobody\r\n'
    await page
      .getByLabel('CSV file', { exact: true })
      .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
    await page.getByText('Choose a column with email addresses or phone numbers.').waitFor()
    await page.getByLabel('Column E-Mail;x').selectOption('email')
    await page.getByLabel('Column who').selectOption('name')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    await page.getByRole('row', { name: '2 no email or phone' }).waitFor()
    const members = async () => (await read(`/api/internal/audiences/${id}/contacts`)).data
    expect(await members()).toMatchObject([{ email: 'zoe@example.test', name: 'Zoe Quick', metadata: { plan: 'pro' } }])

    await page.getByRole('tab', { name: 'Members' }).click()
    await page.getByRole('searchbox').fill('nobody like this')
    await page.getByRole('heading', { name: 'No contact matches' }).waitFor()
    await page.getByRole('searchbox').fill('zoe')
    await page.getByRole('row', { name: 'zoe@example.test' }).click()
    const drawer = page.getByRole('dialog', { name: 'Zoe Quick', exact: true })
    await drawer.getByLabel('Name').fill('Zoe Slow')
    await drawer.getByRole('button', { name: 'Save' }).click()
    await expect.poll(async () => (await members())[0]?.name).toBe('Zoe Slow')
    await expectNoBarriers(page)
    await page.getByRole('button', { name: 'Remove from the audience' }).click()
    await expect.poll(members).toEqual([])
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(async () => (await members()).length).toBe(1)

    await page.getByRole('button', { name: 'Delete audience' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('journey-readers')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete audience' }).click()
    await page.waitForURL('**/audiences')
    expect((await askWith(t, cookie, 'GET', `/api/internal/audiences?id=${id}`)).status).toBe(404)
  }, 60_000)

  test('A search goes on when a page of it is empty', async () => {
    const page = await stage().again('viewer')
    let calls = 0
    const found = {
      id: 'con_far',
      name: 'Far Away',
      email: 'far@example.test',
      phone: null,
      metadata: {},
      tenant_id: null,
      created_at: '2026-01-15T12:00:00.000Z',
      updated_at: '2026-01-15T12:00:00.000Z',
    }
    await page.route('**/api/internal/contacts?*', (route) => {
      calls += 1
      const last = new URL(route.request().url()).searchParams.get('cursor') === 'page-3'
      const body = { data: last ? [found] : [], has_more: !last, next_cursor: last ? null : `page-${calls + 1}` }
      return route.fulfill({ json: body })
    })
    await visit(page, '/audiences?tab=contacts&q=far')
    await page.getByRole('row', { name: 'far@example.test' }).waitFor()
    expect(calls).toBe(3)
  })
}

export default audienceJourneys
