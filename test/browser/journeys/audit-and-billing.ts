import { expect, test } from 'vitest'
import { insertDraft } from '../../audit/entry-drafts.ts'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const auditAndBillingJourneys: Journey = (stage) => {
  test('The audit log is filtered by the address of the page, verified as intact, and found out after tampering', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Logged Works' })
    const { userId } = await addPerson(t, { orgId: org.id })
    const cookie = await signIn(t, userId)
    await askWith(t, cookie, 'PATCH', '/api/internal/org', { body: { name: 'Logged Again' } })
    const page = await openAs(userId)
    await visit(page, `/settings/audit?action=org.*&actor=${userId}`)
    const rows = page.getByRole('table', { name: 'Entries' }).getByRole('row')
    await expect.poll(() => rows.count()).toBe(2)
    await rows.nth(1).click()
    const detail = page.getByRole('dialog')
    await detail.getByText('Logged Again').waitFor()
    expect(new URL(page.url()).searchParams.get('entry')).toMatch(/^aud|^log|_/)
    await expectNoBarriers(page)
    await page.keyboard.press('Escape')
    await page.getByLabel('Action, such as team.*').fill('no.such.action')
    await page.getByRole('heading', { name: 'No entry matches' }).waitFor()

    await page.getByRole('tab', { name: 'Verification' }).click()
    await page.getByRole('button', { name: 'Verify the log' }).click()
    await page.getByRole('status').getByText('The log is intact').waitFor()
    await expectNoBarriers(page)
    const stripped = await insertDraft(t.database, org.id, { signature: null })
    await page.getByRole('button', { name: 'Verify again' }).click()
    await page.getByRole('status').getByText('The log is not intact').waitFor()
    await page.getByText(stripped).first().waitFor()
    await expectNoBarriers(page)
  })

  test('AD-128 an owner limits the countries of text messages, and confirms before the list is empty', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Near Works', plan: 'free' })
    const { userId } = await addPerson(t, { orgId: org.id })
    const cookie = await signIn(t, userId)
    const stored = async () => (await askWith(t, cookie, 'GET', '/api/internal/org/sms-geo')).body.countries
    const page = await openAs(userId)
    await visit(page, '/settings/countries')
    await page.getByRole('radio', { name: 'Only the countries below' }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Refuse every text message?' })
    await dialog.waitFor()
    expect(await stored()).toBeNull()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Find a country').fill('united k')
    await expectNoBarriers(page)
    await page.getByRole('checkbox', { name: 'United Kingdom' }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(stored).toEqual(['GB'])
    await page.getByRole('checkbox', { name: 'United Kingdom' }).uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('textbox').fill('refuse all')
    await dialog.getByRole('button', { name: 'Refuse all text messages' }).click()
    await expect.poll(stored).toEqual([])

    await goTo(page, '/settings/billing')
    await page.getByLabel('Cap in US dollars per month').fill('49.50')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('of $49.50').waitFor()
    await page.getByRole('button', { name: 'Choose Pro' }).click()
    await page.waitForURL('**/billing/checkout/**')
    await page.getByRole('button', { name: 'Pay' }).click()
    await page.getByText('Payment complete').waitFor()
    const { body } = await askWith(t, cookie, 'GET', '/api/internal/billing')
    expect([body.plan, body.spend_cap_usd]).toEqual(['pro', 49.5])
  })
}

export default auditAndBillingJourneys
