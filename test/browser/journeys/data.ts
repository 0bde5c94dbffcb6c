import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { goTo, type Journey, visit } from '../journey.ts'

const dataJourneys: Journey = (stage) => {
  test('An owner starts an export, sees it finish and downloads the file, and downloads their own data', async () => {
    const { t, org, people, again } = stage()
    const page = await again('owner')
    await visit(page, '/settings/exports')
    await page.getByRole('button', { name: 'Start an export' }).click()
    await page.getByRole('cell', { name: 'Queued' }).waitFor()
    await t.service.tasks.exports?.run()
    const link = page.getByRole('link', { name: /^Download exp_/ }).first()
    await link.waitFor()
    const [file] = await Promise.all([page.waitForEvent('download'), link.click()])
    const [first = ''] = readFileSync(await file.path(), 'utf8').split('\n')
    expect(first).toContain(org.org.id)
    const jobs = await t.database.sql<{ status: string }>('select status from export_jobs where org_id = $1', [
      org.org.id,
    ])
    expect(jobs.map(({ status }) => status)).toContain('completed')
    await goTo(page, '/account/data')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download your data' }).click()
    expect(readFileSync(await (await download).path(), 'utf8')).toContain(people.owner.email)
  })

  test('The status of the service names every part', async () => {
    const { again } = stage()
    const page = await again('viewer')
    await visit(page, '/settings/status')
    const headings = await page.getByRole('heading', { level: 2 }).allInnerTexts()
    expect(headings).toEqual(['Database', 'Rate limits', 'Email provider', 'SMS provider', 'Worker'])
  })
}

export default dataJourneys
