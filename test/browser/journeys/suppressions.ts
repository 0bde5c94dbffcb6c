import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const suppressionJourneys: Journey = (stage) => {
  test('A developer adds a suppression, finds it, removes it and takes that back', async () => {
    const { t, openAs } = stage()
    const { org } = await t.org({ name: 'Quiet' })
    const { userId } = await addPerson(t, { orgId: org.id, role: 'developer' })
    const cookie = await signIn(t, userId)
    const stored = async () => {
      const { data } = (await askWith(t, cookie, 'GET', '/api/internal/suppressions')).body
      return data.map(({ channel, value, reason }: Record<string, string>) => [channel, value, reason])
    }
    const page = await openAs(userId)
    await visit(page, '/suppressions')
    await page.getByRole('heading', { name: 'Nothing is suppressed' }).waitFor()
    await page.getByRole('button', { name: 'Add a suppression' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a suppression' })
    const value = dialog.getByLabel('Address or number')
    await value.fill('nobody')
    await dialog.getByRole('button', { name: 'Add a suppression' }).click()
    await dialog.getByText('Must be an email address.').waitFor()
    await value.fill('+1 415 555-0123')
    await dialog.getByRole('button', { name: 'Add a suppression' }).click()
    await page.getByRole('cell', { name: '+14155550123', exact: true }).waitFor()
    expect(await stored()).toEqual([['sms', '+14155550123', 'manual']])

    await goTo(page, '/suppressions?q=nobody')
    await page.getByRole('heading', { name: 'No suppression matches' }).waitFor()
    await goTo(page, '/suppressions?q=5550123&channel=sms')
    await page.getByRole('button', { name: 'Remove +14155550123' }).click()
    await expect.poll(stored).toEqual([])
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('+14155550123 is suppressed again').waitFor()
    expect(await stored()).toEqual([['sms', '+14155550123', 'manual']])
  })

  test('What a recipient asked for cannot be removed, and a viewer cannot remove anything', async () => {
    const { t, openAs, org, again } = stage()
    const { userId } = await addPerson(t, { orgId: org.org.id, role: 'developer' })
    const cookie = await signIn(t, userId)
    for (const reason of ['complaint', 'bounce']) {
      const body = { channel: 'email', value: `${reason}@journey.test` }
      await askWith(t, cookie, 'POST', '/api/internal/suppressions', { body })
      await t.database.sql('update suppressions set reason = $2 where value = $1', [body.value, reason])
    }
    const page = await openAs(userId)
    await visit(page, '/suppressions?q=complaint%40journey.test')
    const button = page.getByRole('button', { name: 'Remove complaint@journey.test' })
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    await button.focus()
    await page.getByText('The recipient asked for it').waitFor()
    const viewer = await again('viewer')
    await visit(viewer, '/suppressions?q=bounce%40journey.test')
    const removal = viewer.getByRole('button', { name: 'Remove bounce@journey.test' })
    expect(await removal.getAttribute('aria-disabled')).toBe('true')
  })
}

export default suppressionJourneys
