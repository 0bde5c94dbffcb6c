import { expect, test } from 'vitest'
import { askWith, signIn } from '../../clients/people.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const blastJourneys: Journey = (stage) => {
  test('A developer composes a send to an audience, leaves it, resumes it, sees its cost and sends it once', async () => {
    const { t, org, people, open } = stage()
    const cookie = await signIn(t, people.developer.userId)
    const post = async (path: string, body: unknown) => (await askWith(t, cookie, 'POST', path, { body })).body
    await post('/api/internal/templates', {
      slug: 'journey-season',
      channel: 'email',
      subject: 'News of {{season}}',
      html: '<p>Hello {{first_name}}, it is {{season}}</p><p><a href="{{unsubscribe_url}}">Unsubscribe</a></p>',
    })
    const { id } = await post('/api/internal/audiences', { name: 'Blast readers' })
    for (const name of ['wim', 'yan']) {
      await post(`/api/internal/audiences/${id}/contacts`, { name, email: `${name}@example.test` })
    }
    const page = await open('developer')
    await visit(page, `/audiences/${id}`)
    await page.getByRole('button', { name: 'Send a message' }).click()
    await page.getByLabel('Template').selectOption({ label: 'journey-season (Email)' })
    await page.getByText('News of {{season}}').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('From').fill('News <news@example.test>')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('season').waitFor()

    await goTo(page, `/audiences/${id}/send?step=review`)
    await page.getByText('variables.season').waitFor()
    await page.getByRole('link', { name: 'Variables' }).click()
    await page.getByLabel('season').fill('spring')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Subjects to compare').fill('Spring is here\nHello spring')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Spread over minutes').fill('30')
    await page.getByRole('button', { name: 'Continue' }).click()

    const send = { name: 'Send to 2 recipients' }
    const button = page.getByRole('button', send)
    await button.waitFor()
    const review = page.url()
    await visit(page, `${review}&mode=test`)
    // A send from the dashboard is live, so it is not offered in test mode.
    await button.waitFor()
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    await visit(page, `${review}&mode=live`)
    await button.waitFor()
    await button.click()
    const jobs = async () =>
      (await askWith(t, cookie, 'GET', '/api/internal/jobs')).body.data.filter(
        (job: { audience_id: string }) => job.audience_id === id,
      )
    expect(await jobs()).toEqual([])
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'POST' && sent.url().endsWith(`/${id}/send`)),
      page.getByRole('dialog').getByRole('button', send).click(),
    ])
    expect(request.headers()['idempotency-key']).toMatch(/^[0-9a-f]{32}$/)
    await page.getByRole('heading', { name: 'The job is created' }).waitFor()
    const [job, ...others] = await jobs()
    expect(others).toEqual([])
    expect(job).toMatchObject({ from: 'News <news@example.test>', template: 'journey-season', scheduled: 2 })
    const rows = await t.database.sql<{ subject: string; html: string }>(
      'select subject, html from messages where org_id = $1 and job_id = $2',
      [org.org.id, job.id],
    )
    expect(rows).toHaveLength(2)
    for (const { subject, html } of rows) {
      expect(['Spring is here', 'Hello spring']).toContain(subject)
      expect(html).toMatch(/Hello (wim|yan), it is spring/)
    }
    const link = page.getByRole('link', { name: 'Open the job' })
    await link.click()
    await page.getByRole('region', { name: 'Messages by status' }).getByText('2', { exact: true }).waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({ view: 'jobs', open: job.id })
  })
}

export default blastJourneys
