import { expect, onTestFinished, test } from 'vitest'
import { startReceiver } from '../../servers/receiver.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const developerJourneys: Journey = (stage) => {
  test('An owner creates a key that works, restricts it and revokes it', async () => {
    const { t, again } = stage()
    const page = await again('owner')
    await visit(page, '/api-keys')
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Journey shop')
    await dialog.getByLabel('Choose scopes').check()
    await dialog.getByLabel('read:messages', { exact: true }).check()
    await dialog.getByLabel('Only these IP addresses').fill('not an address')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Only these IP addresses').fill('127.0.0.0/8, ::1')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const secret = await dialog.locator('pre').innerText()
    const read = async () => (await t.ask('GET', '/api/v1/emails', { key: secret })).status
    expect(await read()).toBe(200)
    await dialog.getByLabel('I stored it').check()
    await dialog.getByRole('button', { name: 'Done' }).click()

    await page.getByText('Journey shop').click()
    await page.getByRole('tab', { name: 'Edit' }).click()
    await page.getByLabel('read:messages', { exact: true }).uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').waitFor()
    expect(await read()).toBe(403)

    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByLabel('Type Journey shop to confirm').fill('Journey shop')
    await page.getByRole('dialog', { name: 'Revoke Journey shop?' }).getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key is revoked').waitFor()
    expect(await read()).toBe(401)
  })

  test('The form of a key fits the screen: its buttons are in view without scrolling, whatever is chosen', async () => {
    const page = await stage().open('owner', { width: 1280 })
    await visit(page, '/api-keys?create=1')
    const dialog = page.getByRole('dialog')
    const boxes = async () => {
      const parts = [dialog, ...['Create key', 'Cancel'].map((name) => dialog.getByRole('button', { name }))]
      const found = await Promise.all(parts.map((part) => part.boundingBox()))
      return found.map((box) => ({ top: box?.y ?? -1, bottom: (box?.y ?? 0) + (box?.height ?? 1_000) }))
    }
    for (const access of ['Full access', 'Choose scopes']) {
      await dialog.getByLabel(access).check()
      const [popup, ...buttons] = await boxes()
      expect(popup?.top, access).toBeGreaterThanOrEqual(0)
      expect(popup?.bottom, access).toBeLessThanOrEqual(800)
      for (const { top, bottom } of buttons) {
        expect(top, access).toBeGreaterThan(popup?.top ?? 800)
        expect(bottom, access).toBeLessThanOrEqual(popup?.bottom ?? 0)
        // No field shows between the buttons and the end of the dialog.
        expect(bottom, access).toBeGreaterThan((popup?.bottom ?? 0) - 20)
      }
    }
    // The last field is not under the buttons when it has the focus.
    const last = dialog.getByRole('textbox', { name: /^Tenant/ })
    await last.focus()
    const field = await last.boundingBox()
    const [, create] = await boxes()
    expect((field?.y ?? 0) + (field?.height ?? 800)).toBeLessThanOrEqual(create?.top ?? 0)
  })

  test('A developer adds an endpoint, fires a test event, sends it again, rotates the secret and deletes it', async () => {
    const { t, org, again } = stage()
    const receiver = await startReceiver((_, response) => response.end('thanks'))
    onTestFinished(() => receiver.stop())
    const page = await again('developer')
    await visit(page, '/webhooks?create=1')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill('not a url')
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByLabel('Only these events').first().check()
    await dialog.getByLabel('message.delivered').check()
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    expect(await dialog.locator('pre').innerText()).toMatch(/^whsec_/)
    await dialog.getByLabel('I stored it').check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const { body } = await t.ask('GET', '/api/v1/webhooks', { key: org.keys.live })
    const made = body.data.find(({ url }: { url: string }) => url === receiver.url)
    expect(made.events).toEqual(['message.delivered'])

    await page.getByText(receiver.url).click()
    await page.getByRole('tab', { name: 'Test' }).click()
    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByText('Your endpoint answered 200.').waitFor()
    expect(receiver.got[0]?.body.event).toBe('webhook.test')
    await page.getByRole('tab', { name: 'Deliveries' }).click()
    await page.getByRole('row').filter({ hasText: 'webhook.test' }).click()
    await page.getByText('Attempt 1: 200').waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('sent again as a new delivery').waitFor()
    await t.ask('POST', '/api/dev/run', { body: { task: 'webhooks' } })
    // Other journeys send messages, whose events arrive here too.
    expect(receiver.got.filter(({ body }) => body.event === 'webhook.test')).toHaveLength(2)

    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page
      .getByRole('dialog', { name: 'Rotate the signing secret?' })
      .getByRole('button', { name: 'Rotate' })
      .click()
    await page.getByLabel('I stored it').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Delete endpoint' }).click()
    const confirm = page.getByRole('dialog', { name: 'Delete this endpoint?' })
    await confirm.getByRole('textbox').fill(new URL(receiver.url).host)
    await confirm.getByRole('button', { name: 'Delete endpoint' }).click()
    await page.getByText('The endpoint is deleted').waitFor()
    expect((await t.ask('GET', `/api/v1/webhooks/${made.id}`, { key: org.keys.live })).status).toBe(404)
  })

  test('The catalogue of events and the API reference show what the service describes, and find it by words', async () => {
    const { t, org, again } = stage()
    const { body: described } = await t.ask('GET', '/api/openapi.json')
    const page = await again('viewer')
    await visit(page, '/events')
    const rows = page.getByRole('table').getByRole('row')
    expect(await rows.count()).toBe(Object.keys(described.webhooks).length + 1)
    await page.getByLabel('Search events').fill('spam')
    await page.keyboard.press('Enter')
    await page.getByRole('row').filter({ hasText: 'message.complained' }).click()
    const drawer = page.getByRole('dialog')
    const payload = JSON.parse(await drawer.locator('pre').innerText())
    const { content } = described.webhooks['message.complained'].post.requestBody
    expect(payload).toEqual(content['application/json'].examples.example1.value)
    await drawer.getByRole('tab', { name: 'Fields' }).click()
    await drawer.getByText('The id of the message.').waitFor()

    await goTo(page, '/reference')
    const operations = Object.values(described.paths as Record<string, object>).flatMap(Object.keys)
    const copies = page.getByRole('main').getByRole('button', { name: /^Copy the curl command/ })
    expect(await copies.count()).toBe(operations.length)
    await page.getByLabel('Search by path, name or purpose').fill('create project')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Create a project/ }).click()
    const command = await drawer.getByRole('region', { name: 'Request' }).locator('pre').innerText()
    const [, url] = /^curl -X POST (\S+)/.exec(command) ?? []
    const [, given = ''] = /-d '([\s\S]*)'$/.exec(command) ?? []
    const made = await t.ask('POST', String(url).slice(t.url.length), { key: org.keys.live, body: JSON.parse(given) })
    expect(made.status).toBe(201)
    expect(await page.getByRole('link', { name: 'Open the full reference' }).getAttribute('href')).toBe('/docs')
  })
}

export default developerJourneys
