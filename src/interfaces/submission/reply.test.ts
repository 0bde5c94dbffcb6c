import { describe, expect, test } from 'vitest'
import { type Code, catalogue, Failure, type FailureDetail } from '../../platform/ground/errors.ts'
import { HandoverFault, type HandoverFaultKind } from '../../providers/handover.ts'
import { replyTo, type Stage } from './reply.ts'

const replyLine = (code: Code, detail: FailureDetail = {}, stage: Stage = 'mail') => {
  const reply = replyTo(new Failure(code, detail), stage, 'req_1')
  return `${reply.code} ${reply.text}`
}

test('every error code has a reply of one ASCII line within the length limit', () => {
  for (const code of Object.keys(catalogue) as Code[]) {
    for (const stage of ['auth', 'mail', 'recipient'] as const) {
      const line = replyLine(code, {}, stage)
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
] as const)('%s for a message is replied with %s', (code, start) => {
  expect(replyLine(code)).toContain(`${start}${code} `)
})

test('during AUTH, errors of the key are 535 and temporary errors are 454', () => {
  expect(replyLine('UNAUTHORIZED', {}, 'auth')).toMatch(/^535 5\.7\.8 /)
  expect(replyLine('TENANT_ARCHIVED', {}, 'auth')).toMatch(/^535 5\.7\.8 /)
  expect(replyLine('RATE_LIMITED', { retryAfter: 12.2 }, 'auth')).toMatch(/^454 4\.7\.0 .* Retry in 13 s\. /)
  expect(replyLine('INTERNAL_ERROR', {}, 'auth')).toMatch(/^454 4\.7\.0 /)
})

test('for a recipient, an invalid address is permanent and one too many is temporary', () => {
  const row = (code: string) => ({ errors: [{ path: ['to'], code, message: 'No.' }] })
  expect(replyLine('VALIDATION_ERROR', row('custom'), 'recipient')).toMatch(/^553 5\.1\.3 /)
  expect(replyLine('VALIDATION_ERROR', row('too_big'), 'recipient')).toMatch(/^452 4\.5\.3 /)
  expect(replyLine('VALIDATION_ERROR', row('too_big'))).toMatch(/^554 5\.6\.0 /)
})

test('a message that was sent but not recorded is a permanent error, so that no mail server sends it again', () => {
  expect(replyLine('INTERNAL_ERROR', { done: true })).toMatch(/^554 5\.3\.0 INTERNAL_ERROR /)
})

describe('a message that the provider did not accept', () => {
  const replyFor = (kind: HandoverFaultKind) =>
    replyLine('INTERNAL_ERROR', {
      cause: new HandoverFault(kind, 'smtp', 'provider detail'),
      extra: { message_id: 'msg_1' },
    })

  test('is a temporary error only when it was certainly not sent', () => {
    expect(replyFor('unavailable')).toMatch(/^451 4\.3\.0 INTERNAL_ERROR .* msg_1 \(req_1\)$/)
    expect(replyFor('throttled')).toMatch(/^451 4\.3\.0 /)
    expect(replyFor('refused')).toMatch(/^554 5\.3\.0 /)
    expect(replyFor('uncertain')).toMatch(/^554 5\.3\.0 INTERNAL_ERROR .* msg_1 \(req_1\)$/)
  })

  test('is reported without the text of the provider', () => {
    expect(replyFor('refused')).not.toContain('provider detail')
  })
})
