import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AttachedFile } from '../submission/parsed-mail.ts'
import { readDeliveryReport } from './delivery-report.ts'

const part = (type: string, ...lines: string[]): AttachedFile => ({
  filename: undefined,
  type,
  parameters: {},
  content: new Uint8Array(Buffer.from(lines.join('\r\n'))),
})
const status = (...lines: string[]) => part('message/delivery-status', 'Reporting-MTA: dns; a.test', '', ...lines)
const read = (...attachments: AttachedFile[]) => readDeliveryReport({ attachments })

describe('a delivery status', () => {
  test('has one entry for each recipient that failed, with both of its addresses', () => {
    const report = status(
      'original-recipient: rfc822; ann@reader.test',
      'FINAL-RECIPIENT: rfc822;<ann@forwarded.test>',
      'Action: Failed (gave up)',
      'Status: 5.1.1 (unknown)',
      '  ',
      'Final-Recipient: rfc822; bob@reader.test',
      'Action: relayed',
      'Status: 2.0.0',
      '',
      '',
      'Final-Recipient: utf-8; jö@reader.test',
      'Action: delivered',
      'Status: 2.0.0',
    )
    expect(read(report)).toEqual([
      {
        kind: 'hard_bounce',
        addresses: ['ann@reader.test', 'ann@forwarded.test'],
        detail: '5.1.1',
        bounceType: 'Permanent',
        bounceSubtype: 'NoEmail',
      },
      { kind: 'delivered', addresses: ['jö@reader.test'], detail: null, bounceType: null, bounceSubtype: null },
    ])
  })

  test.for([
    [[], 'smtp; 550 5.7.1 no', 'soft_bounce', 'Permanent', 'General'],
    [[], 'smtp; 550 no such user', 'hard_bounce', 'Permanent', 'General'],
    [[], 'smtp; 450 later', 'soft_bounce', 'Transient', 'General'],
    [[], '', 'hard_bounce', 'Permanent', 'General'],
    [['Status: 5.4.4'], '', 'hard_bounce', 'Permanent', 'General'],
    [['Status: 5.2.2'], '', 'soft_bounce', 'Permanent', 'MailboxFull'],
    [['Status: 5.3.4'], '', 'soft_bounce', 'Permanent', 'MessageTooLarge'],
    [['Status: 5.6.1'], '', 'soft_bounce', 'Permanent', 'ContentRejected'],
    [['Status: 4.2.2'], '', 'soft_bounce', 'Transient', 'MailboxFull'],
  ] as const)('with %j and %j is a %s of type %s %s', ([lines, diagnostic, kind, bounceType, bounceSubtype]) => {
    const report = status(
      'Final-Recipient: rfc822; a@b.test',
      'Action: failed',
      ...lines,
      `Diagnostic-Code: ${diagnostic}`,
    )
    expect(read(report)).toMatchObject([{ kind, bounceType, bounceSubtype }])
  })

  test('inside the returned message is not read', () => {
    const inner = status('Final-Recipient: rfc822; b@b.test', 'Action: failed', 'Status: 5.1.1')
    const outer = status('Final-Recipient: rfc822; a@b.test', 'Action: delayed', 'Status: 4.4.1')
    expect(read(outer, inner)).toEqual([])
  })

  test('has at most a hundred groups, and a detail of at most a thousand characters', () => {
    const group = ['Final-Recipient: rfc822; a@b.test', 'Action: failed', `Diagnostic-Code: ${'x'.repeat(5_000)}`, '']
    const [first] = read(status(...group))
    expect(first?.detail).toHaveLength(1_000)
    const small = ['Final-Recipient: rfc822; a@b.test', 'Action: failed', '']
    expect(read(status(...Array.from({ length: 1_000 }, () => small).flat()))).toHaveLength(99)
  })
})

test('Any bytes are read without an error', () => {
  const types = fc.constantFrom('message/delivery-status', 'message/feedback-report', 'Message/Delivery-Status', 'a/b')
  fc.assert(
    fc.property(types, fc.uint8Array({ maxLength: 2_000 }), (type, bytes) => {
      const content = new Uint8Array(bytes)
      expect(Array.isArray(read({ filename: undefined, type, parameters: {}, content }))).toBe(true)
    }),
  )
})
