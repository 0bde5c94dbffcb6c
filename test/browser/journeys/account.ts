import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { hashPassword } from '../../../src/customers/accounts/passwords.ts'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const accountJourneys: Journey = (stage) => {
  test('A person renames themselves, turns on the second factor and ends their other session', async () => {
    const { t, org, password, openAs } = stage()
    const passwordHash = await hashPassword(password)
    const { userId } = await addPerson(t, { orgId: org.org.id, role: 'viewer', passwordHash })
    const other = await signIn(t, userId)
    const page = await openAs(userId)
    await visit(page, '/account/profile')
    await page.getByLabel('Your name').fill('Ada King')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Your account: Ada King' }).waitFor()

    await goTo(page, '/account/password')
    await page.getByRole('button', { name: 'Set up' }).click()
    const setup = page.getByRole('dialog', { name: 'Set up two-factor authentication' })
    const picture = setup.getByRole('img', { name: 'QR code for the authenticator app' })
    await picture.waitFor()
    expect(await picture.evaluate((image: { naturalWidth: number }) => image.naturalWidth)).toBeGreaterThan(0)
    await expectNoBarriers(page)
    const secret = (await setup.locator('.font-mono').first().innerText()).trim()
    const code = new TOTP({ secret }).generate({ timestamp: t.service.clock.millis() })
    await setup.getByLabel('Code from the app').fill(code)
    await setup.getByRole('button', { name: 'Turn on' }).click()
    const codes = page.getByRole('dialog', { name: 'Your backup codes' })
    await codes.waitFor()
    expect((await codes.locator('pre').innerText()).split('\n').length).toBeGreaterThanOrEqual(8)
    await codes.getByLabel('I stored it').check()
    await codes.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Backup codes left').waitFor()
    const mine = await signIn(t, userId)
    const state = await askWith(t, mine, 'GET', '/api/internal/user')
    expect(state.body).toMatchObject({ name: 'Ada King', two_factor_enabled: true })

    await goTo(page, '/account/sessions')
    await page.getByRole('button', { name: 'End all others' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click()
    await expect.poll(async () => (await askWith(t, other, 'GET', '/api/internal/user')).status).toBe(401)
    await page.getByRole('row', { name: 'This device' }).waitFor()
  })

  test('Deleting an account names the organisations that would be lost, and deletes nothing before the person agrees', async () => {
    const { t, password, openAs } = stage()
    const { org } = await t.org({ name: 'Lonely Works' })
    const passwordHash = await hashPassword(password)
    const { userId } = await addPerson(t, { orgId: org.id, passwordHash })
    await t.database.sql('delete from memberships where org_id = $1 and user_id <> $2', [org.id, userId])
    await t.database.sql('update orgs set owner_user_id = $2 where id = $1', [org.id, userId])
    const exists = async () => (await t.database.sql('select 1 from users where id = $1', [userId])).length
    const page = await openAs(userId)
    await visit(page, '/account/deletion')
    await page.getByLabel('Your password').fill(password)
    const remove = page.getByRole('button', { name: 'Delete my account' })
    await remove.click()
    const warning = page.getByRole('alert').filter({ hasText: 'You are the only member' })
    await warning.getByText('Lonely Works').waitFor()
    expect(await exists()).toBe(1)
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    await expectNoBarriers(page)
    await warning.getByRole('checkbox').check()
    await remove.click()
    await page.getByRole('heading', { name: 'Sign in to Tidings' }).waitFor()
    expect(await exists()).toBe(0)
  })
}

export default accountJourneys
