import { describe, expect, test } from 'vitest'
import { meaningOfToken, reportOfToken, type TokenMeaning } from './status-tokens.ts'

const twins = (...tokens: string[]) => tokens.flatMap((token) => [token, `TEXT_${token}`, `MMS_${token}`])

const table: [string, TokenMeaning | undefined, string[]][] = [
  [
    'S-246 delivered',
    'delivered',
    ['SUCCESS', 'DELIVERED', 'TEXT_DELIVERED', 'TEXT_SUCCESSFUL', 'MMS_DELIVERED', 'MMS_SUCCESSFUL'],
  ],
  [
    'S-247 S-248 blocked recipients',
    'hard_bounce',
    twins('BLOCKED', 'CARRIER_BLOCKED', 'INVALID_NUMBER', 'INVALID', 'OPTED_OUT', 'SPAM'),
  ],
  [
    'S-249 failures, expiry and unreachable phones',
    'failed',
    twins('FAILURE', 'EXPIRED', 'TTL_EXPIRED', 'UNREACHABLE', 'CARRIER_UNREACHABLE', 'PROTECT_BLOCKED'),
  ],
  ['S-250 invalid messages', 'failed', twins('INVALID_MESSAGE')],
  ['S-251 faults of media files', 'failed', ['MMS_FILE_SIZE_TOO_LARGE', 'MMS_FILE_TYPE_UNSUPPORTED', 'MMS_FILE_X']],
  ['S-252 messages on their way', 'pending', twins('PENDING', 'QUEUED', 'SENT')],
  [
    'S-253 unknown tokens',
    undefined,
    [...twins('UNKNOWN'), 'TEXT_SUCCESS', 'SUCCESSFUL', 'toString', '', 'TEXT_FILE_X'],
  ],
]

describe.each(table)('%s', (_, meaning, tokens) => {
  test.each(tokens)('%s', (token) => {
    expect(meaningOfToken(token)).toBe(meaning)
    expect(meaningOfToken(token.toLowerCase())).toBe(meaning)
  })
})

test('S-246 S-253 only tokens that end a message become a report', () => {
  const at = new Date('2026-01-05T10:00:00.000Z')
  expect(reportOfToken('text_blocked', '+15125550100', at)).toEqual({
    kind: 'hard_bounce',
    recipients: ['+15125550100'],
    at,
    detail: 'TEXT_BLOCKED',
    bounceType: null,
    bounceSubtype: null,
    token: 'text_blocked',
  })
  expect(reportOfToken('TEXT_PENDING', '+15125550100', at)).toBeUndefined()
  expect(reportOfToken('TEXT_UNKNOWN', '+15125550100', at)).toBeUndefined()
})
