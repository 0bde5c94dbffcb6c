/** Shared set-up for the SMS provider tests. */
import { newId } from '../../src/platform/ground/ids.ts'
import type { Sms } from '../../src/providers/sms/sms-provider.ts'

export const testSms = (changes: Partial<Sms> = {}): Sms => ({
  orgId: newId('org'),
  messageId: newId('message'),
  from: '+12025550100',
  to: '+12025550123',
  body: 'Your code is 123456',
  mediaUrl: [],
  dlt: null,
  messageType: 'transactional',
  at: new Date('2026-11-15T10:20:30.000Z'),
  ...changes,
})
