import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { mailedCode, mailsTo, otherThan } from '../../clients/sign-in-client.ts'
import { expectNoBarriers } from '../axe.ts'
import { type Journey, reload, visit } from '../journey.ts'

/** The label of the control that has the focus. */
const focused = (page: Page): Promise<unknown> =>
  page.evaluate(`document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent`)

/** Moves the focus with the keyboard until the control with this label has it. */
const tabTo = async (page: Page, label: string): Promise<void> => {
  for (let keys = 0; keys < 60; keys++) {
    if ((await focused(page)) === label) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`The keyboard does not reach ${label}.`)
}

const composeJourneys: Journey = (stage) => {
  test('A person signs in and sends a first email with the keyboard alone, and a refusal or a reload loses nothing', async () => {
    const { t, org, people, password, open } = stage()
    const { email } = people.developer
    const page = await open(null)
    await visit(page, '/messages/new')
    expect(new URL(page.url()).pathname).toBe('/login')
    await page.keyboard.type(email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
    await page.getByLabel('Code', { exact: true }).waitFor()
    await expectNoBarriers(page)
    const code = await mailedCode(t, email)
    await page.keyboard.type(otherThan(code))
    await page.keyboard.press('Enter')
    await page.getByText('Invalid or expired code').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.type(code)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'New message' }).waitFor()
    await tabTo(page, 'Subject')
    await page.keyboard.type('Written by hand')
    await page.keyboard.press('Enter')
    const errorOf = (label: string) => page.getByLabel(label, { exact: true }).locator('xpath=..').getByRole('alert')
    await errorOf('To').waitFor()
    const wrong = page.getByRole('group', { name: 'Not sent. Correct this first:' })
    await wrong.waitFor()
    // The first wrong field has the focus, and the list at the button leads to the others.
    expect(await focused(page)).toBe('From')
    expect(await wrong.getByRole('button').allInnerTexts()).toEqual(['From', 'To'])
    expect(await wrong.innerText()).toContain((await errorOf('To').innerText()).trim())
    await expectNoBarriers(page)
    await wrong.getByRole('button', { name: 'To', exact: true }).press('Enter')
    expect(await focused(page)).toBe('To')
    await reload(page)
    await tabTo(page, 'From')
    await page.keyboard.type('hello@example.test')
    await tabTo(page, 'To')
    await page.keyboard.type('Ada Lovelace <delivered+hand@simulator.tidings.test>')
    await tabTo(page, 'Text')
    await page.keyboard.type('Dear Ada')
    await tabTo(page, 'Send')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Written by hand' }).waitFor()
    const id = new URL(page.url()).searchParams.get('open')
    const sent = await t.ask('GET', `/api/v1/emails/${id}?include=body`, { key: org.keys.live })
    expect(sent.body).toMatchObject({ subject: 'Written by hand', text: 'Dear Ada', from: 'hello@example.test' })
  })

  test('A developer sends files with tags, metadata and a tenant, and removes a file before', async () => {
    const { t, org, again } = stage()
    const tenant = await t.tenant(org.org.id, { ref: 'files-17' })
    const page = await again('developer')
    await visit(page, '/messages/new')
    const fill = (label: string, text: string) => page.getByRole('form').getByLabel(label).first().fill(text)
    await fill('From', 'hello@example.test')
    await fill('To', 'delivered+files@simulator.tidings.test')
    await fill('Subject', 'Two files')
    await page.getByLabel('Text', { exact: true }).fill('Attached.')
    const files = page.getByLabel('Attachments')
    const file = (name: string, size: number) => ({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') })
    await files.setInputFiles([file('receipt.txt', 2_048), file('large.bin', 7 * 1_048_576)])
    await page.getByText('At most 7 MB can be sent.').waitFor()
    expect(await page.getByRole('button', { name: 'Send', exact: true }).getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('button', { name: 'Remove large.bin' }).press('Enter')
    await page.getByRole('list', { name: '1 file, 2 KB' }).waitFor()
    await expectNoBarriers(page)
    await fill('Tags', 'receipts, shop')
    await fill('Metadata', 'order 4711')
    await page.getByText('Write each line as name=value.').waitFor()
    await fill('Metadata', 'order=4711')
    await page.getByRole('form').getByLabel('Tenant').selectOption(tenant)
    await page.getByRole('region', { name: 'curl' }).getByText("'X-Service-Tenant-Ref: files-17'").waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('heading', { name: 'Two files' }).waitFor()
    const id = new URL(page.url()).searchParams.get('open')
    const [sent] = await t.database.sql('select tags, metadata, tenant_id from messages where id = $1', [id])
    expect(sent).toEqual({ tags: ['receipts', 'shop'], metadata: { order: '4711' }, tenant_id: tenant })
    const [mail] = (await mailsTo(t, 'delivered+files@simulator.tidings.test')) as unknown as { raw: string }[]
    expect(mail?.raw).toContain('filename=receipt.txt')
    expect(mail?.raw).not.toContain('large.bin')
  })
}

export default composeJourneys
