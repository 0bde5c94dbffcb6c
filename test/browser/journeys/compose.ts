import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Journey, visit } from '../journey.ts'

/** Moves the focus with the keyboard until the control with this label has it. */
const tabTo = async (page: Page, label: string): Promise<void> => {
  const focused = `document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent`
  for (let keys = 0; keys < 60; keys++) {
    if ((await page.evaluate(focused)) === label) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`The keyboard does not reach ${label}.`)
}

const composeJourneys: Journey = (stage) => {
  test('A developer writes and sends an email with the keyboard alone, and a refusal or a reload loses nothing', async () => {
    const { t, org, open } = stage()
    const page = await open('developer')
    await visit(page, '/messages/new')
    await tabTo(page, 'Subject')
    await page.keyboard.type('Written by hand')
    await page.keyboard.press('Enter')
    const errorOf = (label: string) => page.getByLabel(label, { exact: true }).locator('xpath=..').getByRole('alert')
    await errorOf('To').waitFor()
    await page.reload()
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
}

export default composeJourneys
