/** Organisations that are closed to a session, the ways to open them, and the way out of them. */
import { TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { hashPassword } from '../../../src/customers/accounts/passwords.ts'
import { callback, newPkce, openRequest, registerClient } from '../../clients/oauth-client.ts'
import { addMember, addPerson, askWith, signIn } from '../../clients/people.ts'
import { goodPassword, mailedCode, mailsTo } from '../../clients/sign-in-client.ts'
import { newSamlOrg, type SsoOrg } from '../../clients/sso-client.ts'
import { expectNoBarriers } from '../axe.ts'
import { goTo, type Journey, visit } from '../journey.ts'

const passwordHash = await hashPassword(goodPassword)
let count = 0

const singleSignOnJourneys: Journey = (stage) => {
  const nameOf = async (orgId: string): Promise<string> => {
    const [row] = await stage().t.database.sql<{ name: string }>('select name from orgs where id = $1', [orgId])
    return (row as { name: string }).name
  }
  const enforce = async (org: SsoOrg): Promise<void> => {
    const { t } = stage()
    await t.database.sql('update sso_connections set tested_at = created_at where org_id = $1', [org.orgId])
    expect((await org.ask('PUT', '/api/internal/sso', { enforced: true })).status).toBe(200)
  }
  /** A person with an organisation of their own, who is a member of another one too. */
  const personIn = async (org: SsoOrg, { domain = 'example.test', hash = passwordHash as string | null } = {}) => {
    const { t } = stage()
    const ownName = `Own Works ${++count}`
    const { org: own } = await t.org({ name: ownName })
    const email = `person-${count}@${domain}`
    const person = await addPerson(t, { email, orgId: own.id, passwordHash: hash })
    const membershipId = await addMember(t, org.orgId, person.userId, 'developer')
    return { ...person, ownId: own.id, ownName, membershipId }
  }
  /** A page in a session that the identity provider of the organisation opened. */
  const openAtProvider = async (userId: string, ssoOrgId: string): Promise<Page> => {
    const { t, open } = stage()
    const from = { method: 'saml', ip: null, userAgent: 'test', ssoOrgId }
    const value = await t.service.sessions.open(userId, from)
    const page = await open(null)
    await page.context().addCookies([{ name: 'service_session', value, url: t.url }])
    return page
  }
  const activate = (page: Page, orgId: string): Promise<void> =>
    page.context().addCookies([{ name: 'service_active_org', value: orgId, url: stage().t.url }])
  const switchTo = async (page: Page, from: string, to: string): Promise<void> => {
    await page.getByRole('button', { name: `Organisation: ${from}` }).click()
    await page.getByRole('menuitem', { name: to }).click()
  }
  const stepUpIn = (page: Page): Locator => page.getByRole('dialog', { name: 'Confirm that it is you' })
  const enterPassword = async (dialog: Locator, password: string): Promise<void> => {
    await dialog.getByLabel('Password').fill(password)
    await dialog.getByRole('button', { name: 'Continue' }).click()
  }
  const enterCode = async (dialog: Locator, code: string): Promise<void> => {
    await dialog.getByLabel('Code', { exact: true }).fill(code)
    await dialog.getByRole('button', { name: 'Continue' }).click()
  }
  const stepUp = async (page: Page, email: string): Promise<void> => {
    const dialog = stepUpIn(page)
    await enterPassword(dialog, goodPassword)
    await dialog.getByLabel('Code', { exact: true }).waitFor()
    await enterCode(dialog, await mailedCode(stage().t, email))
  }

  test('R-54 A session of an identity provider opens another organisation after password, mailed code and second factor', async () => {
    const { t } = stage()
    const org = await newSamlOrg(t)
    const person = await personIn(org, { domain: org.domain })
    const own = await signIn(t, person.userId)
    const { body: setup } = await askWith(t, own, 'POST', '/api/internal/user/2fa/setup')
    const totp = new TOTP({ secret: setup.secret })
    const factor = () => totp.generate({ timestamp: t.service.clock.millis() })
    await askWith(t, own, 'POST', '/api/internal/user/2fa/enable', { body: { code: factor() } })
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 60 } })

    const page = await openAtProvider(person.userId, org.orgId)
    await visit(page, '/')
    const name = await nameOf(org.orgId)
    await switchTo(page, name, person.ownName)
    const dialog = stepUpIn(page)
    await dialog.getByText('for its organisation only').waitFor()
    await expectNoBarriers(page)
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: `Organisation: ${name}` }).waitFor()

    await switchTo(page, name, person.ownName)
    await enterPassword(dialog, 'not the password')
    await dialog.getByText('Invalid email or password').waitFor()
    await stepUp(page, person.email)
    await dialog.getByText('authenticator app').waitFor()
    await expectNoBarriers(page)
    await enterCode(dialog, factor())
    await page.getByRole('button', { name: `Organisation: ${person.ownName}` }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    await switchTo(page, person.ownName, name)
    await page.getByRole('button', { name: `Organisation: ${name}` }).waitFor()
  })

  test('R-54 A person without a password gets the link that sets one', async () => {
    const { t } = stage()
    const org = await newSamlOrg(t)
    const person = await personIn(org, { domain: org.domain, hash: null })
    const page = await openAtProvider(person.userId, org.orgId)
    await activate(page, person.ownId)
    await visit(page, '/')
    await page.getByRole('heading', { name: `${person.ownName} is closed to this session` }).waitFor()
    await page.getByRole('button', { name: 'Confirm with your password' }).click()
    const dialog = stepUpIn(page)
    await dialog.getByText('You have no password yet').waitFor()
    await expectNoBarriers(page)
    await dialog.getByRole('button', { name: 'Send the link' }).click()
    await dialog.getByRole('status').getByText(person.email).waitFor()
    await t.service.people.background.drained()
    expect((await mailsTo(t, person.email))[0]?.text).toContain('/reset-password?token=')
  })

  test('R-54 R-55 An organisation that begins to require single sign-on says why it is closed, and the person leaves it', async () => {
    const { t, openAs } = stage()
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    const name = await nameOf(org.orgId)
    const page = await openAs(person.userId)
    await activate(page, org.orgId)
    await visit(page, '/')
    await enforce(org)
    // A link, as somebody would follow it: nothing but the refusal of the next page tells of the change.
    await page.getByRole('link', { name: 'Suppressions' }).click()
    await page.getByRole('heading', { name: `${name} is closed to this session` }).waitFor()
    await page.getByText('Ask an owner to exempt you.').waitFor()
    expect(await page.getByRole('link', { name: 'Sign in with SSO' }).count()).toBe(0)
    await expectNoBarriers(page)
    // What belongs to the person stays open.
    await goTo(page, '/account/profile')
    await page.getByLabel('Your name').waitFor()
    await goTo(page, '/')
    await page.getByRole('button', { name: `Open ${person.ownName}` }).click()
    await page.getByRole('button', { name: `Organisation: ${person.ownName}` }).waitFor()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    await switchTo(page, person.ownName, name)
    const refused = page.getByRole('dialog', { name: `${name} is closed to this session` })
    await refused.getByText('Ask an owner to exempt you.').waitFor()
    await expectNoBarriers(page)
    await refused.getByRole('button', { name: 'Leave organisation' }).click()
    const confirm = page.getByRole('dialog', { name: `Leave ${name}?` })
    await confirm.getByRole('button', { name: 'Leave organisation' }).click()
    const orgs = async () =>
      t.database.sql('select org_id from memberships where user_id = $1 order by created_at', [person.userId])
    await expect.poll(orgs).toEqual([{ org_id: person.ownId }])
    await page.getByRole('button', { name: `Organisation: ${person.ownName}` }).waitFor()
    await refused.waitFor({ state: 'detached' })
  })

  test('R-54 An organisation that requires its own identity provider leads there from the session of another one', async () => {
    const { t } = stage()
    const [first, second] = [await newSamlOrg(t), await newSamlOrg(t)]
    const person = await personIn(first, { domain: first.domain })
    await addMember(t, second.orgId, person.userId, 'developer')
    await enforce(first)
    const page = await openAtProvider(person.userId, second.orgId)
    await visit(page, '/')
    const name = await nameOf(first.orgId)
    await switchTo(page, await nameOf(second.orgId), name)
    const refused = page.getByRole('dialog', { name: `${name} is closed to this session` })
    // Following the link would leave this machine.
    const start = await refused.getByRole('link', { name: 'Sign in with SSO' }).getAttribute('href')
    expect(start).toBe(`/api/auth/saml/login?org=${first.slug}&redirect_to=%2F`)
    await refused.getByRole('button', { name: 'Close' }).click()
    await refused.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  test('R-54 An owner sees who would lose access, exempts a member and ends it again, and invites somebody as exempt', async () => {
    const { t, openAs } = stage()
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    await t.database.sql(`update users set name = 'Mary Shelley' where id = $1`, [person.userId])
    await t.database.sql('update sso_connections set tested_at = created_at where org_id = $1', [org.orgId])
    const page = await openAs(org.ownerId)
    await visit(page, '/settings/sso?step=rules')
    await page.getByRole('button', { name: 'Require it' }).click()
    const question = page.getByRole('dialog', { name: 'Require single sign-on?' })
    await question.getByText('One member has an address outside your domains').waitFor()
    await expectNoBarriers(page)
    await question.getByRole('button', { name: 'Require it' }).click()
    await question.waitFor({ state: 'detached' })

    await goTo(page, '/settings/team')
    const row = page.getByRole('row', { name: 'Mary Shelley' })
    await row.getByText('No access: needs SSO').waitFor()
    await expectNoBarriers(page)
    const choose = async (item: string) => {
      await row.getByRole('button', { name: 'Actions for Mary Shelley' }).click()
      await page.getByRole('menuitem', { name: item }).click()
      await page.getByRole('dialog').getByRole('button', { name: item }).click()
    }
    const cookie = await signIn(t, person.userId)
    const opens = async () =>
      (await askWith(t, `${cookie}; service_active_org=${org.orgId}`, 'GET', '/api/internal/org')).status
    expect(await opens()).toBe(403)
    await choose('Exempt from single sign-on')
    await row.getByText('Exempt from SSO').waitFor()
    expect(await opens()).toBe(200)
    await choose('End the exemption')
    await row.getByText('No access: needs SSO').waitFor()
    expect(await opens()).toBe(403)

    await page.getByRole('button', { name: 'Invite a person' }).click()
    const dialog = page.getByRole('dialog', { name: 'Invite a person' })
    await dialog.getByLabel('Email address').fill('guest@example.test')
    await dialog.getByRole('checkbox', { name: 'Exempt from single sign-on' }).check()
    await expectNoBarriers(page)
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.waitFor({ state: 'detached' })
    const invited = await t.database.sql('select email, sso_exempt from invitations where org_id = $1', [org.orgId])
    expect(invited).toEqual([{ email: 'guest@example.test', sso_exempt: true }])
    await page.getByRole('tab', { name: 'Invitations' }).click()
    await page.getByRole('row', { name: 'guest@example.test' }).getByText('Exempt from SSO').waitFor()
  })

  test('R-55 A member leaves an organisation in its settings, and its primary owner is told to transfer it first', async () => {
    const { t, openAs } = stage()
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    const name = await nameOf(org.orgId)
    const page = await openAs(person.userId)
    await t.database.sql('update orgs set owner_user_id = $2 where id = $1', [person.ownId, person.userId])
    await visit(page, '/settings/organisation')
    const leave = async (from: string) => {
      await page.getByRole('button', { name: 'Leave organisation' }).click()
      const dialog = page.getByRole('dialog', { name: `Leave ${from}?` })
      await dialog.getByRole('button', { name: 'Leave organisation' }).click()
      return dialog
    }
    const dialog = await leave(person.ownName)
    await dialog.getByText('Transfer the ownership before you leave.').waitFor()
    await expectNoBarriers(page)
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await switchTo(page, person.ownName, name)
    await page.getByRole('button', { name: `Organisation: ${name}` }).waitFor()
    await goTo(page, '/settings/organisation')
    await leave(name)
    await page.getByRole('button', { name: `Organisation: ${person.ownName}` }).waitFor()
    const memberships = await t.database.sql('select org_id from memberships where user_id = $1', [person.userId])
    expect(memberships).toEqual([{ org_id: person.ownId }])
  })

  test('R-54 Invitations and OAuth clients of another organisation ask for the step-up, and then go on', async () => {
    const { t } = stage()
    const [org, host] = [await newSamlOrg(t), await newSamlOrg(t)]
    const person = await personIn(org, { domain: org.domain })
    const body = { email: person.email, role: 'viewer' }
    expect((await host.ask('POST', '/api/internal/team/invite', body)).status).toBe(201)
    await t.service.people.background.drained()
    const link = /\/invite\?token=\S+/.exec((await mailsTo(t, person.email))[0]?.text ?? '')?.[0] as string
    const page = await openAtProvider(person.userId, org.orgId)
    await visit(page, link)
    await page.getByRole('button', { name: 'Accept' }).click()
    await stepUp(page, person.email)
    await page.getByRole('button', { name: `Organisation: ${await nameOf(host.orgId)}` }).waitFor()

    const clientId = await registerClient(t, { client_name: 'Desk tool' })
    const own = await signIn(t, person.userId)
    const id = await openRequest(t, own, clientId, newPkce(), { scope: 'read:usage' })
    const other = await openAtProvider(person.userId, org.orgId)
    const returned = Promise.withResolvers<URL>()
    await other.route(`${callback}**`, (route) => {
      returned.resolve(new URL(route.request().url()))
      return route.fulfill({ contentType: 'text/html', body: '<link rel="icon" href="data:,"><h1>Back</h1>' })
    })
    await visit(other, `/oauth/consent?id=${id}`)
    await other.getByLabel('Organisation').selectOption({ label: `${person.ownName} (owner)` })
    await other.getByRole('button', { name: 'Allow' }).click()
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 60 } })
    await stepUp(other, person.email)
    expect((await returned.promise).searchParams.get('code')).not.toBeNull()
    await other.getByRole('heading', { name: 'Back' }).waitFor()
    expect(stage().takeFaults()).toEqual([expect.stringContaining(` requests ${callback}?`)])
    const grants = await t.database.sql('select org_id from oauth_grants where client_id = $1', [clientId])
    expect(grants).toEqual([{ org_id: person.ownId }])
  })
}

export default singleSignOnJourneys
