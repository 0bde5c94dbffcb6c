import { expect, test } from 'vitest'
import { addPerson } from '../../clients/people.ts'
import { type Journey, reload, visit } from '../journey.ts'

const firstStepJourneys: Journey = (stage) => {
  test('The first steps of a new organisation mark what is done and lead to what is not', async () => {
    const { t, openAs } = stage()
    const { org, keys } = await t.org({ name: 'Fresh Start' })
    const { userId, email } = await addPerson(t, { orgId: org.id, role: 'owner' })
    const page = await openAs(userId)
    await visit(page, '/')
    const steps = page.getByRole('list', { name: 'First steps' })
    await steps.getByText('This is my first message').waitFor()
    // The key that the installation printed counts.
    await steps.getByText('Create an API key: Done').waitFor()
    // The request on the page works as it is, without a verified domain.
    await t.database.sql('delete from domains where org_id = $1', [org.id])
    await reload(page)
    await steps.getByText('It needs no domain').waitFor()
    const command = await steps.getByRole('region', { name: 'curl' }).innerText()
    const body = JSON.parse(command.slice(command.indexOf('{'), command.lastIndexOf('}') + 1))
    expect(body).toMatchObject({ from: expect.stringMatching(/^hello@.*\.sandbox\./), to: [email] })
    expect((await t.ask('POST', '/api/v1/emails', { key: keys.live, body })).status).toBe(200)
    await reload(page)
    for (const step of ['Send a first message', 'See it on its way', 'Add your domain']) {
      await steps.getByText(`${step}: Done`).waitFor()
    }
    expect(await page.getByRole('slider', { name: /^Delivery/ }).getAttribute('aria-valuetext')).toMatch(/: Sent 1,/)
    await steps.getByRole('link', { name: 'Add an endpoint' }).click()
    await page.getByRole('dialog', { name: 'Add a webhook endpoint' }).waitFor()
  })

  test('The outbox shows mail that was sent on this machine', async () => {
    const { t, org, again } = stage()
    const to = `outbox-${Date.now()}@example.test`
    const body = { from: 'hello@example.test', to: [to], subject: 'Into the outbox', html: '<p>Kept here</p>' }
    await t.ask('POST', '/api/v1/emails', { key: org.keys.live, body })
    const page = await again('developer')
    await visit(page, `/outbox?to=${to}`)
    await page.getByRole('row').filter({ hasText: to }).click()
    await page.getByRole('tab', { name: 'Source' }).click()
    await page.getByText('Subject: Into the outbox').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Task').selectOption('analytics')
    await page.getByRole('button', { name: 'Run task' }).click()
    await page.getByText('analytics has run').waitFor()
  })
}

export default firstStepJourneys
