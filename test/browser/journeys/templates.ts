import { expect, test } from 'vitest'
import { askWith, signIn } from '../../clients/people.ts'
import { type Journey, reload, visit } from '../journey.ts'

const templateJourneys: Journey = (stage) => {
  test('A developer writes a template, sees it with variables and its problems, keeps a draft, tests and deletes it', async () => {
    const { t, people, again } = stage()
    const cookie = await signIn(t, people.developer.userId)
    const read = async (id: string) => (await askWith(t, cookie, 'GET', `/api/internal/templates?id=${id}`)).body
    const page = await again('developer')
    await visit(page, '/templates?create=1')
    const dialog = page.getByRole('dialog', { name: 'New template' })
    await dialog.getByLabel('Slug').fill('Not a slug')
    await dialog.getByRole('button', { name: 'New template' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Slug').fill('journey-welcome')
    await dialog.getByRole('button', { name: 'New template' }).click()
    await page.getByRole('heading', { name: 'journey-welcome' }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1) as string

    const problems = page.getByRole('region', { name: 'Problems' })
    await problems.getByText('{{name}} has no value in the preview').first().waitFor()
    const code = page.getByRole('textbox', { name: 'HTML of the template' })
    await code.click()
    await page.keyboard.press('Control+Home')
    // The letters would open pages, outside of an editor.
    await page.keyboard.type('g m{{! note }}\n')
    await problems.getByRole('button', { name: 'HTML 1:4' }).click()
    expect(new URL(page.url()).pathname).toBe(`/templates/${id}`)
    await page.getByRole('button', { name: 'Add name' }).click()
    await page.getByLabel('Variables').fill('{"name": "Ada"}')
    await page.frameLocator('iframe').getByRole('heading', { name: 'Welcome, Ada', exact: true }).waitFor()
    await reload(page)
    await page.getByText('Not saved').waitFor()
    expect((await read(id)).html).not.toContain('note')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The template is saved').waitFor()
    expect((await read(id)).html).toMatch(/^g m\{\{! note \}\}\n<!doctype html>/)

    const save = page.getByRole('button', { name: 'Save' })
    const saveElsewhere = (subject: string) =>
      askWith(t, cookie, 'PATCH', `/api/internal/templates?id=${id}`, { body: { subject } })
    await saveElsewhere('Of a colleague')
    const subject = page.getByLabel('Subject', { exact: true })
    await subject.fill('Of a colleague too')
    await save.click()
    const conflict = page.getByRole('dialog', { name: 'Somebody else saved this template' })
    await conflict.getByRole('button', { name: 'Reload' }).click()
    await expect.poll(() => subject.inputValue()).toBe('Of a colleague')
    await saveElsewhere('Another one')
    await subject.fill('Welcome, {{name}}')
    await save.click()
    await conflict.waitFor()
    expect((await read(id)).subject).toBe('Another one')
    await conflict.getByRole('button', { name: 'Overwrite' }).click()
    await conflict.waitFor({ state: 'detached' })
    expect(await read(id)).toMatchObject({ subject: 'Welcome, {{name}}', html: expect.stringContaining('note') })

    await page.getByRole('button', { name: 'Send a test' }).click()
    const test = page.getByRole('dialog', { name: 'Send a test message' })
    await test.getByRole('button', { name: 'Send a test' }).click()
    await test.getByRole('alert').first().waitFor()
    await test.getByLabel('From').fill('hello@example.test')
    await test.getByLabel('To').fill('delivered@simulator.tidings.test')
    await test.getByRole('button', { name: 'Send a test' }).click()
    await test.getByRole('link', { name: 'Open the message' }).waitFor()
    const sent = await t.database.sql(`select subject from messages where 'template-test' = any(tags)`)
    expect(sent).toEqual([{ subject: 'Welcome, Ada' }])
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: 'Delete template' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('journey-welcome')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete template' }).click()
    await page.waitForURL('**/templates')
    expect((await askWith(t, cookie, 'GET', `/api/internal/templates?id=${id}`)).status).toBe(404)
  })
}

export default templateJourneys
