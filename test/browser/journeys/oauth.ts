import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { authorizePath, callback, newPkce, openRequest, registerClient } from '../../clients/oauth-client.ts'
import { signIn } from '../../clients/people.ts'
import { mailedCode } from '../../clients/sign-in-client.ts'
import { expectNoBarriers } from '../axe.ts'
import { type Journey, visit } from '../journey.ts'

/** The client's own server. The browser does not reach it: what it was sent is the outcome. */
const catchReturn = async (page: Page): Promise<() => Promise<URL>> => {
  const caught = Promise.withResolvers<URL>()
  await page.route(`${callback}**`, (route) => {
    caught.resolve(new URL(route.request().url()))
    return route.fulfill({
      contentType: 'text/html',
      body: '<link rel="icon" href="data:,"><h1>Back in the client</h1>',
    })
  })
  return () => caught.promise
}

const oauthJourneys: Journey = (stage) => {
  /** The way back to the client is the only request to another origin. */
  const expectOnlyReturn = () =>
    expect(stage().takeFaults()).toEqual([expect.stringContaining(` requests ${callback}?`)])

  test('AD-148: A signed-out person signs in, sees what the client asks for, and allows a part of it', async () => {
    const { t, org, people, password, open } = stage()
    const page = await open(null)
    const returned = await catchReturn(page)
    const clientId = await registerClient(t, { client_name: 'Desk tool' })
    const scope = 'send:email read:messages write:contacts'
    await visit(page, authorizePath(clientId, newPkce(), { scope }))
    await page.getByLabel('Email address').fill(people.developer.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Code', { exact: true }).waitFor()
    await page.getByLabel('Code', { exact: true }).fill(await mailedCode(t, people.developer.email))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Allow Desk tool?' }).waitFor()
    await page.getByText('127.0.0.1').waitFor()
    await page.getByText('The client will send live messages').waitFor()
    const asked = page.getByRole('group', { name: 'What it may do' })
    const groups = await asked.getByRole('group').all()
    const grouped = await Promise.all(groups.map((group) => group.innerText()))
    expect(grouped.map((text) => [text.split('\n')[0], text.match(/[a-z]+:[a-z]+/g)])).toEqual([
      ['Sending', ['send:email']],
      ['Messages', ['read:messages']],
      ['Recipients', ['write:contacts']],
    ])
    await expectNoBarriers(page)
    await page.getByRole('checkbox', { name: 'Create, change and delete contacts' }).uncheck()
    await page.getByRole('button', { name: 'Allow' }).click()
    const { searchParams } = await returned()
    expect([searchParams.get('state'), searchParams.get('code') !== null]).toEqual(['some state', true])
    await page.getByRole('heading', { name: 'Back in the client' }).waitFor()
    expectOnlyReturn()
    const grants = await t.database.sql('select org_id, user_id, scopes from oauth_grants where client_id = $1', [
      clientId,
    ])
    expect(grants).toEqual([
      { org_id: org.org.id, user_id: people.developer.userId, scopes: ['send:email', 'read:messages'] },
    ])
  })

  test('AD-148: A viewer can allow reading only, denies it, and finds the request over', async () => {
    const { t, people, openAs } = stage()
    const { userId } = people.viewer
    const clientId = await registerClient(t, { client_name: 'Desk tool' })
    const scope = 'send:email read:messages'
    const id = await openRequest(t, await signIn(t, userId), clientId, newPkce(), { scope })
    const page = await openAs(userId)
    const returned = await catchReturn(page)
    await visit(page, `/oauth/consent?id=${id}`)
    const sending = page.getByRole('checkbox', { name: 'Send email' })
    expect([await sending.isDisabled(), await sending.isChecked()]).toEqual([true, false])
    await page.getByRole('button', { name: 'Deny' }).click()
    expect((await returned()).searchParams.get('error')).toBe('access_denied')
    await page.getByRole('heading', { name: 'Back in the client' }).waitFor()
    expectOnlyReturn()
    await visit(page, `/oauth/consent?id=${id}`)
    await page.getByRole('heading', { name: 'This request is over' }).waitFor()
    expect(await t.database.sql('select id from oauth_grants where client_id = $1', [clientId])).toEqual([])
  })
}

export default oauthJourneys
