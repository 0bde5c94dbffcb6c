import { expect, test } from 'vitest'
import { askWith, signIn } from '../../clients/people.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const tenantJourneys: Journey = (stage) => {
  test('An owner makes a tenant, limits it, resumes it after a suspension and archives it by typing its slug', async () => {
    const { t, org, people, open } = stage()
    const cookie = await signIn(t, people.owner.userId)
    const page = await open('owner')
    await visit(page, '/tenants?open=new')
    const form = page.getByRole('form', { name: 'New tenant' })
    await form.getByLabel('Name').fill('Journey Foods')
    await form.getByLabel('Your reference').fill('Customer-99')
    await form.getByLabel('Slug').fill('No Slug')
    await form.getByRole('button', { name: 'New tenant' }).click()
    await form.getByText('Must be 1 to 48 lowercase letters').waitFor()
    await form.getByLabel('Slug').fill('journey-foods')
    await form.getByRole('button', { name: 'New tenant' }).click()
    const detail = page.getByRole('dialog', { name: 'Journey Foods' })
    await detail.getByText('0, no quota').first().waitFor()
    const id = new URL(page.url()).searchParams.get('open') as string
    const stored = async () => (await askWith(t, cookie, 'GET', `/api/internal/tenants/${id}`)).body
    expect(await stored()).toMatchObject({ slug: 'journey-foods', external_ref: 'customer-99', status: 'active' })

    await detail.getByRole('tab', { name: 'Quotas' }).click()
    await detail.getByLabel('Emails per month').fill('many')
    await detail.getByRole('button', { name: 'Save' }).click()
    await detail.getByText('Enter a whole number, or nothing.').waitFor()
    await detail.getByLabel('Emails per month').fill('500')
    await detail.getByRole('button', { name: 'Save' }).click()
    await expect.poll(async () => (await stored()).quotas).toEqual({ email_monthly: 500, sms_monthly: null })
    await detail.getByRole('tab', { name: 'Details' }).click()
    await detail.getByText('0 of 500').waitFor()

    await t.ask('POST', `/api/v1/tenants/${id}/suspend`, { key: org.keys.live })
    await visit(page, `/tenants?status=suspended&ref=customer-99&open=${id}`)
    await page.getByRole('row', { name: 'Journey Foods' }).waitFor()
    await detail.getByRole('button', { name: 'Resume' }).click()
    await expect.poll(async () => (await stored()).status).toBe('active')
    await detail.getByRole('button', { name: 'Archive tenant' }).click()
    const confirm = page.getByRole('dialog', { name: 'Archive Journey Foods?' })
    await confirm.getByRole('textbox').fill('journey-foods')
    await confirm.getByRole('button', { name: 'Archive tenant' }).click()
    await expect.poll(async () => (await stored()).status).toBe('archived')
    await detail.getByText('Archived', { exact: true }).waitFor()
  })

  test('An owner makes, renames and deletes a project, and pauses a pool of IP addresses', async () => {
    const { t, people, again } = stage()
    const cookie = await signIn(t, people.owner.userId)
    const list = async (path: string) => (await askWith(t, cookie, 'GET', `/api/internal/${path}?limit=100`)).body.data
    const named = async (path: string, name: string) =>
      (await list(path)).find((row: { name: string }) => row.name === name)
    const page = await again('owner')
    await visit(page, '/projects?open=new')
    await page.getByLabel('Name').fill('Journey shop')
    await page.getByRole('button', { name: 'Save' }).click()
    const project = page.getByRole('dialog', { name: 'Journey shop', exact: true })
    await project.getByLabel('Name').fill('Journey store')
    await project.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => named('projects', 'Journey store')).toMatchObject({ slug: 'journey-shop' })
    const renamed = page.getByRole('dialog', { name: 'Journey store', exact: true })
    await renamed.getByRole('button', { name: 'Delete' }).click()
    const confirm = page.getByRole('dialog', { name: 'Delete Journey store?' })
    await confirm.getByRole('textbox').fill('Journey store')
    await confirm.getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => named('projects', 'Journey store')).toBeUndefined()

    await goTo(page, '/senders/ips?open=new')
    await page.getByLabel('Name').fill('Journey IPs')
    await page.getByLabel('Region').selectOption('eu-west-1')
    await page.getByLabel('IP addresses').fill('99')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('IP addresses').fill('2')
    await page.getByRole('button', { name: 'Save' }).click()
    const pool = page.getByRole('dialog', { name: 'Journey IPs', exact: true })
    await pool.getByRole('checkbox', { name: 'Pause' }).check()
    await pool.getByRole('button', { name: 'Save' }).click()
    await expect
      .poll(() => named('ip-pools', 'Journey IPs'))
      .toMatchObject({ region: 'eu-west-1', ip_count: 2, paused: true })
  })
}

export default tenantJourneys
