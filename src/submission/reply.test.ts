import { describe, expect, test } from 'vitest'
import { type Code, catalogue, Failure, type FailureDetail } from '../ground/errors.ts'
import { HandoverError, type HandoverFault } from '../providers/email/email-provider.ts'
import { replyTo, type Stage } from './reply.ts'

const told = (code: Code, detail: FailureDetail = {}, stage: Stage = 'mail') => {
  const reply = replyTo(new Failure(code, detail), stage, 'req_1')
  return `${reply.code} ${reply.text}`
}

test('every code of the catalogue is told in one ASCII line that a reply takes', () => {
  for (const code of Object.keys(catalogue) as Code[]) {
    for (const stage of ['auth', 'mail', 'recipient'] as const) {
      const line = told(code, {}, stage)
      expect(line, code).toMatch(new RegExp(`^[45]\\d\\d ([45])\\.\\d\\.\\d ${code} [ -~]+ \\(req_1\\)$`))
      expect(line[0], code).toBe(line[4])
      expect(line.length, code).toBeLessThan(510)
    }
  }
})

test.each([
  ['RATE_LIMITED', '450 4.7.1 '],
  ['IDEMPOTENCY_IN_FLIGHT', '450 4.7.1 '],
  ['IP_POOL_PAUSED', '450 4.7.1 '],
  ['USAGE_LIMIT_EXCEEDED', '452 4.7.1 '],
  ['SPEND_CAP_EXCEEDED', '452 4.7.1 '],
  ['SANDBOX_DAILY_LIMIT', '452 4.7.1 '],
  ['WARMUP_LIMIT_EXCEEDED', '452 4.7.1 '],
  ['INTERNAL_ERROR', '451 4.3.0 '],
  ['ATTACHMENT_TOO_LARGE', '552 5.3.4 '],
  ['INVALID_FROM', '553 5.7.1 '],
  ['SANDBOX_RECIPIENT_NOT_ALLOWED', '550 5.7.1 '],
  ['ORG_SUSPENDED', '550 5.7.1 '],
  ['UNAUTHORIZED', '530 5.7.0 '],
  ['VALIDATION_ERROR', '554 5.6.0 '],
] as const)('%s of a message is %s', (code, start) => {
  expect(told(code)).toContain(`${start}${code} `)
})

test('while signing in what is wrong with the key is 535, and what passes is 454', () => {
  expect(told('UNAUTHORIZED', {}, 'auth')).toMatch(/^535 5\.7\.8 /)
  expect(told('TENANT_ARCHIVED', {}, 'auth')).toMatch(/^535 5\.7\.8 /)
  expect(told('RATE_LIMITED', { retryAfter: 12.2 }, 'auth')).toMatch(/^454 4\.7\.0 .* Retry in 13 s\. /)
  expect(told('INTERNAL_ERROR', {}, 'auth')).toMatch(/^454 4\.7\.0 /)
})

test('of a recipient what is no address is final, and one too many may be sent to in another message', () => {
  const row = (code: string) => ({ errors: [{ path: ['to'], code, message: 'No.' }] })
  expect(told('VALIDATION_ERROR', row('custom'), 'recipient')).toMatch(/^553 5\.1\.3 /)
  expect(told('VALIDATION_ERROR', row('too_big'), 'recipient')).toMatch(/^452 4\.5\.3 /)
  expect(told('VALIDATION_ERROR', row('too_big'))).toMatch(/^554 5\.6\.0 /)
})

describe('a message the provider did not take', () => {
  const by = (kind: HandoverFault) =>
    told('INTERNAL_ERROR', {
      cause: new HandoverError(kind, 'smtp', 'words of the provider'),
      extra: { message_id: 'msg_1' },
    })

  test('may come again only while it has certainly not gone out', () => {
    expect(by('unavailable')).toMatch(/^451 4\.3\.0 INTERNAL_ERROR .* msg_1 \(req_1\)$/)
    expect(by('throttled')).toMatch(/^451 4\.3\.0 /)
    expect(by('refused')).toMatch(/^554 5\.3\.0 /)
    expect(by('uncertain')).toMatch(/^554 5\.3\.0 INTERNAL_ERROR .* msg_1 \(req_1\)$/)
  })

  test('is told without the words of the provider', () => {
    expect(by('refused')).not.toContain('words of the provider')
  })
})
