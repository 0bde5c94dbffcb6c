import { expect, test } from 'vitest'
import { getTokens } from '../../clients/oauth-client.ts'
import { signIn } from '../../clients/people.ts'
import { idpEntityId, idpKey, idpSsoUrl, newSsoOrg } from '../../clients/sso-client.ts'
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
    await page.getByLabel('Sign-on address').fill('http://idp.example.com/sso')
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
    const { access } = await getTokens(t, { cookie, orgId: org.orgId, scopes: ['read:messages'] })
    const headers = { authorization: `Bearer ${access}` }
    expect((await t.ask('GET', '/api/v1/messages', { headers })).status).toBe(200)
    const page = await openAs(org.ownerId)
    await visit(page, '/settings/grants?tab=org')
    await page.getByRole('button', { name: 'End the grant of Desktop assistant' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End the grant of Desktop assistant' }).click()
    await page.getByRole('heading', { name: 'No client has access to this organisation' }).waitFor()
    expect((await t.ask('GET', '/api/v1/messages', { headers })).status).toBe(401)
  })
}

export default securityJourneys
