import { expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import { goodPassword, mailedCode, mailsTo, openBrowser } from '../../clients/sign-in-client.ts'
import { cheapHash } from '../../service/cheap-password.ts'
import { expectNoBarriers } from '../axe.ts'
import { type Journey, visit } from '../journey.ts'

const signInJourneys: Journey = (stage) => {
  test('A wrong password says so with the id of the request, and a service without development tools shows no mail', async () => {
    const { t, people, password, open } = stage()
    const page = await open(null)
    await page.route('**/api/dev/**', (route) => route.fulfill({ status: 404, json: { error: { code: 'NOT_FOUND' } } }))
    await visit(page, '/login')
    await page.getByLabel('Email address').fill(people.viewer.email)
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Invalid email or password').waitFor()
    expect(await page.getByRole('alert').innerText()).toMatch(/req_\w+/)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Code', { exact: true }).waitFor()
    await t.service.people.background.drained()
    expect(await page.getByRole('button', { name: 'Show the mail' }).count()).toBe(0)
  })

  test('A person registers, verifies the address and lands in their own organisation', async () => {
    const { t, open } = stage()
    const page = await open(null)
    const email = `new-${Date.now()}@example.test`
    await visit(page, '/register')
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
    await page.getByLabel('Code').waitFor()
    // On this machine nothing is delivered, so the page shows the mail itself.
    await page.getByRole('button', { name: 'Show the mail' }).click()
    const mail = page.getByRole('dialog', { name: 'Verify your email address' })
    const code = await mailedCode(t, email)
    await mail.getByText(code).waitFor()
    await expectNoBarriers(page)
    await page.keyboard.press('Escape')
    await page.getByLabel('Code').fill(code)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Organisation: Hopper Labs' }).waitFor()
  })

  test('An invited person opens the mailed link, registers and lands in the organisation with the role', async () => {
    const { t, org, people, open } = stage()
    const email = `invited-${Date.now()}@example.test`
    const cookie = await signIn(t, people.owner.userId)
    const body = { email, role: 'developer' }
    expect((await askWith(t, cookie, 'POST', '/api/internal/team/invite', { body })).status).toBe(201)
    await t.service.people.background.drained()
    const [mail] = await mailsTo(t, email)
    const link = /\/invite\?token=\S+/.exec(mail?.text ?? '')?.[0] as string
    const page = await open(null)
    await visit(page, link)
    await page.getByRole('heading', { name: 'Acme Mail' }).waitFor()
    await expectNoBarriers(page)
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByLabel('Your name').fill('Katherine Johnson')
    expect(await page.getByLabel('Email address').inputValue()).toBe(email)
    await page.getByLabel('Password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByLabel('Code').waitFor()
    await t.service.people.background.drained()
    await page.getByLabel('Code').fill(await mailedCode(t, email))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Organisation: Acme Mail' }).waitFor()
    const memberships = await t.database.sql(
      `select m.org_id, m.role from memberships m join users u on u.id = m.user_id where u.email = $1`,
      [email],
    )
    expect(memberships).toEqual([{ org_id: org.org.id, role: 'developer' }])
    await visit(page, link)
    await page.getByRole('heading', { name: 'This invitation cannot be used' }).waitFor()
  })

  test('A forgotten password is reset through the mailed link', async () => {
    const { t, open } = stage()
    const { email } = await addPerson(t, { email: `forgetful-${Date.now()}@example.test` })
    const page = await open(null)
    await visit(page, '/forgot-password')
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
    await visit(page, (await linkOf()) as string)
    await page.getByLabel('New password').fill('another correct horse')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tidings' }).waitFor()
    await page.getByText('Your password is changed').waitFor()
  })

  test('R-56 A browser that guessing elsewhere keeps out is unlocked through the mailed link', async () => {
    const { t, open } = stage()
    const passwordHash = await cheapHash(goodPassword)
    const { email } = await addPerson(t, { email: `guessed-${Date.now()}@example.test`, passwordHash })
    for (let n = 1; n <= 50; n++) {
      await openBrowser(t, `198.18.7.${n}`).post('/api/auth/login', { email, password: 'a wrong password' })
    }
    const page = await open(null)
    const enter = async () => {
      await page.getByLabel('Email address').fill(email)
      await page.getByLabel('Password').fill(goodPassword)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }
    await visit(page, '/login')
    await enter()
    await page.getByRole('alert').getByText('Look into your inbox').waitFor()
    const linkOf = async () => {
      await t.service.people.background.drained()
      const [mail] = await mailsTo(t, email)
      return /\/unlock\?token=\S+/.exec(mail?.text ?? '')?.[0]
    }
    await expect.poll(linkOf).toBeDefined()
    await visit(page, (await linkOf()) as string)
    await page.getByRole('button', { name: 'Unlock', exact: true }).click()
    await page.getByText('This browser is unlocked').waitFor()
    await enter()
    await page.getByText('We sent a six-digit code').waitFor()
  })

  test('The link of the first start signs the owner in once', async () => {
    const { t, org, open } = stage()
    const link = await t.service.people.firstSignIn.makeLink(org.owner.email)
    const page = await open(null)
    await visit(page, link)
    await page.getByRole('button', { name: 'Open the dashboard' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const again = await open(null)
    await visit(again, link)
    await again.getByRole('button', { name: 'Open the dashboard' }).click()
    await again.getByText('The link has been used').waitFor()
  })
}

export default signInJourneys
