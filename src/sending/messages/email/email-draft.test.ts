import { expect, test } from 'vitest'
import { type EmailDraft, mailOf } from './email-draft.ts'

const at = new Date('2026-01-05T10:00:00.000Z')
const dkim = { domain: 'example.com', selector: 'svc1', privateKey: 'key' }
const domain = { kind: 'domain', domainId: 'dom_1', name: 'example.com', region: 'eu-west-1', dkim } as const
const draftFrom = (sender: unknown): EmailDraft =>
  ({ id: 'msg_1', by: { orgId: 'org_1' }, sender, subject: 'Hello' }) as EmailDraft
const deliveryOf = (sender: unknown) => {
  const { returnPath, dkim: signed, region, ipPool } = mailOf(draftFrom(sender), at)
  return { returnPath, signed, region, ipPool }
}

test('XD-19 mail from a domain is signed with its DKIM key, and bounces go to its return host once that is verified', () => {
  expect(deliveryOf({ ...domain, returnPath: 'send.example.com', ipPool: 'ipp_1' })).toEqual({
    returnPath: 'msg_1@send.example.com',
    signed: dkim,
    region: 'eu-west-1',
    ipPool: 'ipp_1',
  })
  expect(deliveryOf({ ...domain, returnPath: null, ipPool: null }).returnPath).toBeNull()
})

test('mail from the sandbox and in test mode has no DKIM key and no return path', () => {
  const bare = { returnPath: null, signed: null, region: 'us-east-1', ipPool: null }
  expect(deliveryOf({ kind: 'sandbox', name: 'acme.sandbox.tidings.test' })).toEqual(bare)
  expect(deliveryOf(null)).toEqual(bare)
})
