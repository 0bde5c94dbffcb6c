import { expect, test } from 'vitest'
import { type Journey, visit } from '../journey.ts'

const developerJourneys: Journey = (stage) => {
  test('An owner creates a key that works, restricts it and revokes it', async () => {
    const { t, open } = stage()
    const page = await open('owner')
    await visit(page, '/api-keys')
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Journey shop')
    await dialog.getByLabel('Choose scopes').check()
    await dialog.getByLabel('read:messages', { exact: true }).check()
    await dialog.getByLabel('Only these IP addresses').fill('not an address')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Only these IP addresses').fill('127.0.0.0/8, ::1')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const secret = await dialog.locator('pre').innerText()
    const read = async () => (await t.ask('GET', '/api/v1/emails', { key: secret })).status
    expect(await read()).toBe(200)
    await dialog.getByLabel('I stored it').check()
    await dialog.getByRole('button', { name: 'Done' }).click()

    await page.getByText('Journey shop').click()
    await page.getByRole('tab', { name: 'Edit' }).click()
    await page.getByLabel('read:messages', { exact: true }).uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').waitFor()
    expect(await read()).toBe(403)

    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByLabel('Type Journey shop to confirm').fill('Journey shop')
    await page.getByRole('dialog', { name: 'Revoke Journey shop?' }).getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key is revoked').waitFor()
    expect(await read()).toBe(401)
  })

  test('A developer sees keys and reads which role may create one', async () => {
    const page = await stage().open('developer')
    await visit(page, '/api-keys')
    await page.getByRole('button', { name: 'Create key' }).first().hover()
    await page.getByText('Needs the owner role').first().waitFor()
  })
}

export default developerJourneys
