import { expect, test } from 'vitest'
import { addPerson } from '../../clients/people.ts'
import { mailedCode, otherThan } from '../../clients/sign-in-client.ts'
import { expectNoBarriers } from '../axe.ts'
import { type Journey, visit, visitAndCheck } from '../journey.ts'

const signInJourneys: Journey = (stage) => {
  test('A person signs in with the keyboard alone and comes to the page they asked for', async () => {
    const { t, people, password, open } = stage()
    const page = await open(null)
    await visitAndCheck(page, '/orgs/new')
    expect(new URL(page.url()).pathname).toBe('/login')
    await page.keyboard.type(people.owner.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
    await page.getByLabel('Code', { exact: true }).waitFor()
    await expectNoBarriers(page)
    const code = await mailedCode(t, people.owner.email)
    await page.keyboard.type(otherThan(code))
    await page.keyboard.press('Enter')
    await page.getByText('Invalid or expired code').waitFor()
    await page.getByLabel('Code', { exact: true }).fill(code)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Create an organisation' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/orgs/new')
  })

  test('A wrong password says so, with the id of the request', async () => {
    const { people, open } = stage()
    const page = await open(null)
    await visit(page, '/login')
    await page.getByLabel('Email address').fill(people.viewer.email)
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Invalid email or password').waitFor()
    expect(await page.getByRole('alert').innerText()).toMatch(/req_\w+/)
  })

  test('A person registers, verifies the address and lands in their own organisation', async () => {
    const { t, open } = stage()
    const page = await open(null)
    const email = `new-${Date.now()}@example.test`
    await visitAndCheck(page, '/register')
    await page.getByLabel('Your name').fill('Grace Hopper')
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password').fill('short')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('Use at least 10 characters.').waitFor()
    await page.getByLabel('Password').fill('correct horse battery')
    await page.getByLabel('Organisation').fill('Hopper Labs')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Verify your email address' }).waitFor()
    await expectNoBarriers(page)
    await page.getByLabel('Code').fill(await mailedCode(t, email))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Organisation: Hopper Labs' }).waitFor()
  })

  test('A forgotten password is reset through the mailed link', async () => {
    const { t, open } = stage()
    const { email } = await addPerson(t, { email: `forgetful-${Date.now()}@example.test` })
    const page = await open(null)
    await visitAndCheck(page, '/forgot-password')
    await page.getByLabel('Email address').fill(email)
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByRole('status').getByText(email).waitFor()
    const linkOf = async () => {
      await t.service.people.background.drained()
      await t.service.modules.outbox.flushed()
      const { body } = await t.ask('GET', `/api/dev/outbox?channel=email&to=${encodeURIComponent(email)}`)
      return /\/reset-password\?token=\S+/.exec(body.data[0]?.text ?? '')?.[0]
    }
    await expect.poll(linkOf).toBeDefined()
    await visitAndCheck(page, (await linkOf()) as string)
    await page.getByLabel('New password').fill('another correct horse')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tidings' }).waitFor()
    await page.getByText('Your password is changed').waitFor()
  })

  test('The link of the first start signs the owner in once', async () => {
    const { t, org, open } = stage()
    const link = await t.service.people.firstSignIn.makeLink(org.owner.email)
    const page = await open(null)
    await visitAndCheck(page, link)
    await page.getByRole('button', { name: 'Open the dashboard' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const again = await open(null)
    await visit(again, link)
    await again.getByRole('button', { name: 'Open the dashboard' }).click()
    await again.getByText('The link has been used').waitFor()
  })
}

export default signInJourneys
