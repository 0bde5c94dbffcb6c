import { expect, test } from 'vitest'
import { domainClient, report } from '../../clients/domain-client.ts'
import { type Journey, visit } from '../journey.ts'

const domainJourneys: Journey = (stage) => {
  test('A developer adds a domain, has it checked, warms it up, moves it and deletes it', async () => {
    const { t, org, again } = stage()
    const api = domainClient(t, org)
    const page = await again('developer')
    await visit(page, '/domains?create=1')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Domain', { exact: true }).fill('not a domain')
    await dialog.getByRole('button', { name: 'Add domain' }).click()
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Domain', { exact: true }).fill('journey.example')
    await dialog.getByRole('button', { name: 'Add domain' }).click()
    const records = page.getByRole('list', { name: 'DNS records' })
    await records.getByText('svc1._domainkey.journey.example').waitFor()
    const id = new URL(page.url()).searchParams.get('open') as string
    expect((await api.get(id)).body.status).toBe('pending')

    await report(t, id, 'verified')
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText('Checked: Verified').waitFor()
    expect((await api.get(id)).body.status).toBe('verified')

    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByLabel('Days').fill('7')
    await page.getByRole('button', { name: 'Start warmup' }).click()
    await page.getByText('Day 1 of 7').first().waitFor()
    expect((await api.get(id)).body.warmup.days).toBe(7)
    await page.getByLabel('Region').selectOption('eu-west-1')
    await page.getByRole('button', { name: 'Move the domain' }).click()
    const move = page.getByRole('dialog', { name: 'Move journey.example to another region?' })
    await move.getByRole('button', { name: 'Move the domain' }).click()
    await page.getByText('The region is changed').waitFor()
    expect((await api.get(id)).body.region).toBe('eu-west-1')

    await page.getByRole('button', { name: 'Delete domain' }).click()
    const confirm = page.getByRole('dialog', { name: 'Delete journey.example?' })
    await confirm.getByRole('textbox').fill('journey.example')
    await confirm.getByRole('button', { name: 'Delete domain' }).click()
    await page.getByText('The domain is deleted').waitFor()
    expect((await api.get(id)).status).toBe(404)
  })
}

export default domainJourneys
