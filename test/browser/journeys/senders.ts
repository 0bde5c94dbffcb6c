import { expect, test } from 'vitest'
import { askWith, signIn } from '../../clients/people.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const senderJourneys: Journey = (stage) => {
  test('A form for a brand names what is still needed, and the brand what the registry misses', async () => {
    const { t, people, again } = stage()
    const cookie = await signIn(t, people.developer.userId)
    const page = await again('developer')
    await visit(page, '/senders/brands?open=new')
    const form = page.getByRole('form', { name: 'New brand' })
    await form.getByText('Still needed: Display name, Registered name, Legal form').waitFor()
    await form.getByLabel('Display name').fill('Journey Shoes')
    await form.getByLabel('Registered name').fill('Journey Shoes Inc.')
    await form.getByLabel('Legal form').selectOption('private_profit')
    await form.getByText('Everything that is always needed is there.').waitFor()
    await form.getByLabel('Website').fill('not a website')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByRole('alert').first().waitFor()
    await form.getByLabel('Website').fill('https://shoes.example.test')
    await form.getByRole('button', { name: 'Save' }).click()
    const detail = page.getByRole('dialog', { name: 'Journey Shoes', exact: true })
    await detail.waitFor()
    const missing = detail.getByRole('alert').filter({ hasText: 'The registry needs these fields' })
    await missing.getByText('Tax id', { exact: true }).waitFor()
    await expectNoBarriers(page)
    const read = async () =>
      (await askWith(t, cookie, 'GET', '/api/internal/brands?limit=100')).body.data.find(
        (brand: { display_name: string }) => brand.display_name === 'Journey Shoes',
      )
    expect(await read()).toMatchObject({ legal_company_name: 'Journey Shoes Inc.', environment: 'live' })
    const edit = detail.getByRole('form', { name: 'Change' })
    await edit.getByLabel('City').fill('Austin')
    await edit.getByRole('button', { name: 'Save' }).click()
    await expect.poll(async () => (await read()).city).toBe('Austin')
    expect((await read()).website).toBe('https://shoes.example.test')
  })

  test('An owner registers a DLT entity and a header, and makes a pool of a sender id', async () => {
    const { t, people, again } = stage()
    const cookie = await signIn(t, people.owner.userId)
    const list = async (path: string) => (await askWith(t, cookie, 'GET', `/api/internal/${path}?limit=100`)).body.data
    const page = await again('owner')
    await visit(page, '/senders/dlt?open=new')
    const entity = page.getByRole('form', { name: 'New entity' })
    await entity.getByLabel('Registered name').fill('Journey India Ltd')
    await entity.getByLabel('Principal entity id').fill('1101234567890123456')
    await entity.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Journey India Ltd', exact: true }).waitFor()
    await goTo(page, '/senders/dlt?tab=headers&open=new')
    const header = page.getByRole('form', { name: 'New header' })
    const [{ id }] = await list('dlt/entities')
    await header.getByLabel('Entity').selectOption(id)
    await header.getByLabel('Header').first().fill('JOURNY')
    await header.getByLabel('Category').selectOption('transactional')
    await header.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'JOURNY', exact: true }).waitFor()
    expect(await list('dlt/headers')).toMatchObject([{ header: 'JOURNY', entity: id }])

    await goTo(page, '/senders/numbers?open=new')
    const number = page.getByRole('form', { name: 'New number or sender id' })
    await number.getByLabel('Kind').selectOption('alphanumeric')
    await number.getByLabel('Country').fill('GB')
    await number.getByLabel('Sender id').last().fill('Journey')
    await number.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Journey', exact: true }).waitFor()
    await goTo(page, '/senders/pools?open=new')
    const pool = page.getByRole('form', { name: 'New pool' })
    await pool.getByLabel('Name').fill('Journey pool')
    await pool.getByLabel('Slug').fill('journey')
    await pool.getByRole('checkbox', { name: 'Journey' }).check()
    await pool.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Journey pool', exact: true }).waitFor()
    const made = (await list('pools')).find(({ slug }: { slug: string }) => slug === 'journey')
    expect(made).toMatchObject({ name: 'Journey pool', phone_number_ids: [expect.stringMatching(/^num_/)] })
  })
}

export default senderJourneys
