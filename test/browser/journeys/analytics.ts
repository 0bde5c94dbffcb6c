import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { addPerson } from '../../clients/people.ts'
import { type Journey, visit } from '../journey.ts'

const analyticsJourneys: Journey = (stage) => {
  test('Charts show the figures of a day by keyboard and as a table, filters are in the URL, and a file has them all', async () => {
    const { t, openAs } = stage()
    const { org, keys } = await t.org({ name: 'Counted' })
    const tenantId = await t.tenant(org.id)
    const { userId } = await addPerson(t, { orgId: org.id, role: 'viewer' })
    const body = { from: 'hello@example.test', to: ['delivered@simulator.tidings.test'], subject: 'One', text: 'One' }
    for (const key of [keys.live, keys.live, await t.key(org.id, { tenantId })]) {
      expect((await t.ask('POST', '/api/v1/emails', { key, body })).status).toBe(200)
    }
    const page = await openAs(userId)
    // As Chromium does in the POSIX locale. The library of the charts passes it on to Intl.
    await page.addInitScript(() =>
      Object.defineProperty(Object.getPrototypeOf(navigator), 'language', { get: () => 'en-US@posix' }),
    )
    await visit(page, '/analytics?days=7')
    const chart = page.getByRole('slider', { name: /^Delivery/ })
    expect(await chart.getAttribute('aria-valuetext')).toMatch(/^Total: Sent 3,/)
    await chart.focus()
    await page.keyboard.press('End')
    await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/^\w{3} \d+: Sent 3,/)
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/^\w{3} \d+: Sent 0,/)
    await page.getByRole('figure').filter({ hasText: 'Delivery' }).getByRole('button', { name: 'Show table' }).click()
    const table = page.getByRole('table', { name: 'Delivery' })
    expect(await table.getByRole('row').count()).toBe(8)

    // A file of the former figures would be the wrong one.
    const held = Promise.withResolvers<void>()
    await page.route('**/api/internal/analytics?*', async (route) => {
      await held.promise
      await route.fallback()
    })
    await page.getByLabel('Tenant').selectOption(tenantId)
    await expect.poll(() => new URL(page.url()).search).toBe(`?days=7&tenant=${tenantId}`)
    await page.getByRole('button', { name: 'Download CSV', disabled: true }).waitFor()
    held.resolve()
    await expect.poll(() => table.getByRole('row').last().getByRole('cell').nth(1).textContent()).toBe('1')
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n')
    expect([lines.length, lines[0]?.slice(0, 26)]).toEqual([8, 'date,sent,delivered,bounce'])
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\d,1,/)

    await page.getByLabel('Channel').selectOption('sms')
    await page.getByRole('heading', { name: 'Nothing was sent in this time' }).waitFor()
  })
}

export default analyticsJourneys
