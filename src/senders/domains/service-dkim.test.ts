import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, onTestFinished, test } from 'vitest'
import { startBouncingService } from '../../../test/clients/inbound-mail.ts'
import { testMasterKey } from '../../../test/service/service.ts'
import { makeVault } from '../../platform/ground/crypto.ts'
import { makeSendNotice } from '../../sending/messages/notice.ts'
import { makeServiceDkim, serviceSelector } from './service-dkim.ts'

test('Notices of the service are signed with its own key once that exists, and mail of domains with theirs', async () => {
  const t = await startBouncingService()
  onTestFinished(t.stop)
  const acme = await t.org()
  const { db, clock, emailProvider: provider } = t.service.modules
  const notify = makeSendNotice({ db, clock, provider, serviceDomain: 'tidings.test' })
  const notice = { orgId: acme.org.id, subject: 'A notice', text: 'Hello.' }
  await notify(notice)
  expect(t.relayed.at(-1)?.raw).not.toMatch(/^DKIM-Signature:/im)

  const dkim = makeServiceDkim({ db, clock, vault: makeVault(testMasterKey) })
  const [one, two] = await Promise.all([dkim.readOrCreate(), dkim.readOrCreate()])
  expect(one).toEqual(two)
  await notify(notice)
  const record = `v=DKIM1; k=rsa; p=${one.publicKey}`
  const { results } = await dkimVerify(Buffer.from(t.relayed.at(-1)?.raw ?? ''), {
    resolver: async (name: string) => (name === `${serviceSelector}._domainkey.tidings.test` ? [[record]] : []),
  })
  expect(results.map(({ status, signingDomain }) => [status.result, signingDomain])).toEqual([['pass', 'tidings.test']])

  const sandbox = { from: `try@${acme.org.slug}.sandbox.tidings.test`, to: [acme.owner.email] }
  const sent = { key: acme.keys.live, body: { ...sandbox, subject: 'Hi', text: 'Hi' } }
  expect((await t.ask('POST', '/api/v1/emails', sent)).status).toBe(200)
  expect(t.relayed.at(-1)?.raw).toMatch(/d=tidings\.test;/)
  expect(t.relayed.at(-1)?.from).toMatch(/^b[0-9a-z]{63}@feedback\.tidings\.test$/)

  const body = { from: 'hello@example.test', to: ['ann@reader.test'], subject: 'Hi', text: 'Hi' }
  expect((await t.ask('POST', '/api/v1/emails', { key: acme.keys.live, body })).status).toBe(200)
  expect(t.relayed.at(-1)?.raw).toMatch(/d=example\.test;/)
})
