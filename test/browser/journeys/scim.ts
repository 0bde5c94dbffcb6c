import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { type Journey, visit } from '../journey.ts'

const scimJourneys: Journey = (stage) => {
  test('An owner gets a SCIM token once, gives groups a role, sees the directory call, and revokes the token', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Directory Works', plan: 'enterprise' })
    const { userId } = await addPerson(t, { orgId: org.id })
    const cookie = await signIn(t, userId)
    const page = await openAs(userId)
    await visit(page, '/settings/scim')
    await page.getByText('Not connected').waitFor()
    await page.getByRole('button', { name: 'New token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Entra')
    await dialog.getByLabel('Valid for, in days').fill('soon')
    await dialog.getByRole('button', { name: 'New token' }).click()
    await dialog.getByText('Enter a whole number of days, or nothing.').waitFor()
    await dialog.getByLabel('Valid for, in days').fill('90')
    await dialog.getByRole('button', { name: 'New token' }).click()
    const token = (await dialog.locator('pre').innerText()).trim()
    await dialog.getByLabel('I stored it').check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Waiting for the first call').waitFor()
    expect(await page.getByText(token).count()).toBe(0)

    const call = () => fetch(`${t.url}/scim/v2/Users`, { headers: { authorization: `Bearer ${token}` } })
    expect((await call()).status).toBe(200)
    const mapping = page.getByRole('form', { name: 'Roles of groups' })
    await mapping.getByLabel('Role without a group').selectOption('member')
    const before = await mapping.getByRole('listitem').count()
    await mapping.getByRole('button', { name: 'Add a group' }).click()
    await mapping.getByRole('button', { name: 'Save' }).click()
    await mapping.getByText('Enter the name of a group.').waitFor()
    await mapping.getByLabel(`Name of group ${before + 1}`).fill('Platform team')
    await mapping.getByLabel(`Role of group ${before + 1}`).selectOption('developer')
    await mapping.getByRole('button', { name: 'Save' }).click()
    const stored = async () => (await askWith(t, cookie, 'GET', '/api/internal/scim/mapping')).body
    await expect
      .poll(async () => (await stored()).groups)
      .toContainEqual({ display_name: 'Platform team', role: 'developer' })
    expect((await stored()).default_role).toBe('member')

    await visit(page, '/settings/scim')
    await page.getByText('Connected', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Revoke Entra' }).click()
    const confirm = page.getByRole('dialog', { name: 'Revoke Entra?' })
    await confirm.getByRole('textbox').fill('Entra')
    await confirm.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('heading', { name: 'No token yet' }).waitFor()
    expect((await call()).status).toBe(401)
  })
}

export default scimJourneys
