import { expect, test } from 'vitest'
import { hashPassword } from '../../../src/customers/accounts/passwords.ts'
import { getTokens } from '../../clients/oauth-client.ts'
import { addPerson, signIn } from '../../clients/people.ts'
import { goodPassword, mailedCode } from '../../clients/sign-in-client.ts'
import { idpEntityId, idpKey, idpSsoUrl, newSamlOrg, newSsoOrg } from '../../clients/sso-client.ts'
import { type Journey, visit } from '../journey.ts'

const securityJourneys: Journey = (stage) => {
  test('An owner sets up SAML, gets the record of a domain, and sees why it cannot be required yet', async () => {
    const { t, openAs } = stage()
    const org = await newSsoOrg(t)
    const page = await openAs(org.ownerId)
    await visit(page, '/settings/sso')
    await page.getByText(`/api/auth/saml/acs?org=${org.slug}`).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByLabel('How do you enter it?').selectOption('fields')
    await page.getByLabel('Entity id of the identity provider').fill(idpEntityId)
    await page.getByLabel('Sign-on address').fill('https://idp.example.com/sso#part')
    await page.getByLabel('Certificate').fill(idpKey.certificate)
    await page.getByRole('button', { name: 'Save and continue' }).click()
    await page.getByText('Enter an https address').waitFor()
    await page.getByLabel('Sign-on address').fill(idpSsoUrl)
    await page.getByRole('button', { name: 'Save and continue' }).click()
    await page.getByLabel('Domain', { exact: true }).fill('second.example.com')
    await page.getByRole('button', { name: 'Add domain' }).click()
    const added = page.getByRole('article', { name: 'second.example.com' })
    await added.waitFor()
    const { body } = await org.ask('GET', '/api/internal/sso')
    expect([body.protocol, body.idp_sso_url, body.tested]).toEqual(['saml', idpSsoUrl, false])
    const record = body.email_domains.find(({ domain }: { domain: string }) => domain === 'second.example.com')
    await added.getByText(record.txt_value).waitFor()
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByRole('listitem').getByText('Sign in once through this configuration first.').waitFor()
    expect(await page.getByRole('button', { name: 'Require it' }).getAttribute('aria-disabled')).toBe('true')
  })

  test('An owner ends the grant of a client, and its token stops working', async () => {
    const { t, openAs } = stage()
    const org = await newSsoOrg(t)
    const cookie = await signIn(t, org.ownerId)
    const { access } = await getTokens(t, { cookie, orgId: org.orgId, scopes: ['read:usage'] })
    const headers = { authorization: `Bearer ${access}` }
    expect((await t.ask('GET', '/api/v1/usage', { headers })).status).toBe(200)
    const page = await openAs(org.ownerId)
    await visit(page, '/settings/grants?tab=org')
    await page.getByRole('button', { name: 'End the grant of Desktop assistant' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End the grant of Desktop assistant' }).click()
    await page.getByRole('heading', { name: 'No client has access to this organisation' }).waitFor()
    expect((await t.ask('GET', '/api/v1/usage', { headers })).status).toBe(401)
  })

  test('A person is sent to the identity provider by their address, or after a password that is not enough', async () => {
    const { t, open } = stage()
    const org = await newSamlOrg(t)
    await t.database.sql('update orgs set sso_enforced = true where id = $1', [org.orgId])
    const passwordHash = await hashPassword(goodPassword)
    const email = `member@${org.domain}`
    await addPerson(t, { email, orgId: org.orgId, role: 'developer', passwordHash })
    const page = await open(null)
    await visit(page, '/login')
    await page.getByRole('button', { name: 'Sign in with SSO' }).click()
    await page.getByLabel('Work email address').fill('nobody@elsewhere.example.com')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('The sign-in through your identity provider failed').waitFor()
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password').fill(goodPassword)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Code', { exact: true }).waitFor()
    await page.getByLabel('Code', { exact: true }).fill(await mailedCode(t, email))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Your organisation requires single sign-on').waitFor()
    // Following the link would leave this machine.
    const start = await page.getByRole('link', { name: 'Sign in with SSO' }).getAttribute('href')
    expect(start).toBe(`/api/auth/saml/login?org=${org.slug}&redirect_to=%2F`)
    const { status, headers } = await t.ask('GET', start as string)
    expect([status, String(headers.location).startsWith(`${idpSsoUrl}?SAMLRequest=`)]).toEqual([302, true])
  })
}

export default securityJourneys
