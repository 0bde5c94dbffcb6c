import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const settingsJourneys: Journey = (stage) => {
  test('An owner invites a person, revokes the invitation, and undoes the change of a role', async () => {
    const { t, org, people, again } = stage()
    const cookie = await signIn(t, people.owner.userId)
    const colleague = await addPerson(t, { orgId: org.org.id, role: 'member' })
    await t.database.sql(`update users set name = 'Mary Shelley' where id = $1`, [colleague.userId])
    const page = await again('owner')
    await visit(page, '/settings/team')
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const dialog = page.getByRole('dialog', { name: 'Invite a person' })
    await dialog.getByLabel('Email address').fill('not an address')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.getByText('Enter a valid email address.').waitFor()
    await expectNoBarriers(page)
    await dialog.getByLabel('Email address').fill('invited@example.test')
    await dialog.getByLabel('Role').selectOption('viewer')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.waitFor({ state: 'detached' })
    const invitations = async () =>
      (await askWith(t, cookie, 'GET', '/api/internal/team/invite')).body.data.map(
        ({ email, role }: { email: string; role: string }) => `${email} ${role}`,
      )
    expect(await invitations()).toContain('invited@example.test viewer')

    const role = page.getByLabel('Role of Mary Shelley')
    await role.selectOption('developer')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Mary Shelley is now member').waitFor()
    const { body } = await askWith(t, cookie, 'GET', '/api/internal/team/members?limit=100')
    expect(body.data.find(({ user_id }: { user_id: string }) => user_id === colleague.userId).role).toBe('member')

    await page.getByRole('tab', { name: 'Invitations' }).click()
    const row = page.getByRole('row', { name: 'invited@example.test' })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await expect.poll(invitations).not.toContain('invited@example.test viewer')
  })

  test('Somebody who is not an owner sees which role changes the team and the organisation', async () => {
    const page = await stage().open('developer')
    await visit(page, '/settings/team')
    const invite = page.getByRole('button', { name: 'Invite a person' })
    expect(await invite.getAttribute('aria-disabled')).toBe('true')
    await invite.focus()
    await page.getByText('Needs the owner role').first().waitFor()
    await goTo(page, '/settings/organisation')
    expect(await page.getByRole('button', { name: 'Delete organisation' }).getAttribute('aria-disabled')).toBe('true')
  })

  test('An owner renames an organisation, limits its sessions, and deletes it by typing its slug', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Short Lived' })
    const person = await addPerson(t, { orgId: org.id })
    const cookie = await signIn(t, person.userId)
    const page = await openAs(person.userId)
    await visit(page, '/settings/organisation')
    await page.getByLabel('Name').fill('Shorter Lived')
    await page.getByRole('form', { name: 'General' }).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Organisation: Shorter Lived' }).waitFor()
    const policy = page.getByRole('form', { name: 'Sessions of members' })
    await policy.getByLabel('Longest session, in hours').fill('1000')
    await policy.getByRole('button', { name: 'Save' }).click()
    await policy.getByRole('alert').waitFor()
    await policy.getByLabel('Longest session, in hours').fill('12')
    await policy.getByRole('button', { name: 'Save' }).click()
    await policy.getByText('sessions up to 12 hours old').waitFor()
    const read = () => askWith(t, cookie, 'GET', '/api/internal/org/session-policy')
    expect((await read()).body).toMatchObject({ max_session_age_hours: 12, max_sessions_per_user: null })

    await page.getByRole('button', { name: 'Delete organisation' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Delete organisation' })
    await dialog.getByRole('textbox').fill('something else')
    expect(await confirm.getAttribute('aria-disabled')).toBe('true')
    await dialog.getByRole('textbox').fill(org.slug)
    await confirm.click()
    await page.getByRole('heading', { name: 'Create an organisation' }).waitFor()
    expect((await askWith(t, cookie, 'GET', '/api/internal/orgs')).body.data).toEqual([])
  })
}

export default settingsJourneys
