import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

test.each([
  ['30', 30, []],
  ['0', 365, ['AUDIT_LOG_RETENTION_DAYS']],
  ['never', 365, ['AUDIT_LOG_RETENTION_DAYS']],
  ['-1', 365, ['AUDIT_LOG_RETENTION_DAYS']],
  ['', 365, []],
])('A-360 R-47 AUDIT_LOG_RETENTION_DAYS=%j means %i days', (given, days, ignored) => {
  const { auditRetentionDays, ignoredVariables } = readConfig({ AUDIT_LOG_RETENTION_DAYS: given })
  expect([auditRetentionDays, ignoredVariables]).toEqual([days, ignored])
})
