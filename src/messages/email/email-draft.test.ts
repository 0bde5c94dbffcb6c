import { expect, test } from 'vitest'
import { type EmailDraft, mailOf } from './email-draft.ts'

const at = new Date('2026-01-05T10:00:00.000Z')
const dkim = { domain: 'example.com', selector: 'svc1', privateKey: 'key' }
const domain = { kind: 'domain', domainId: 'dom_1', name: 'example.com', region: 'eu-west-1', dkim } as const
const drafted = (sender: unknown): EmailDraft =>
  ({ id: 'msg_1', by: { orgId: 'org_1' }, sender, subject: 'Hello' }) as EmailDraft
const carried = (sender: unknown) => {
  const { returnPath, dkim: signed, region, ipPool } = mailOf(drafted(sender), at)
  return { returnPath, signed, region, ipPool }
}

test('XD-19 mail of a domain is signed for it, and bounces come back to its return host once that is published', () => {
  expect(carried({ ...domain, returnPath: 'send.example.com', ipPool: 'ipp_1' })).toEqual({
    returnPath: 'msg_1@send.example.com',
    signed: dkim,
    region: 'eu-west-1',
    ipPool: 'ipp_1',
  })
  expect(carried({ ...domain, returnPath: null, ipPool: null }).returnPath).toBeNull()
})

test('mail of the sandbox and of test mode has no domain to be signed for or to bounce to', () => {
  const bare = { returnPath: null, signed: null, region: 'us-east-1', ipPool: null }
  expect(carried({ kind: 'sandbox', name: 'acme.sandbox.tidings.test' })).toEqual(bare)
  expect(carried(null)).toEqual(bare)
})
