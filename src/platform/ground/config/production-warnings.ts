/** Settings that production accepts but that leave out a protection. */
import type { Config } from './config.ts'

type ProductionWarning = { variable: string; problem: string; advice: string }

export const productionWarnings = (config: Config): ProductionWarning[] => {
  if (!config.production) return []
  const warnings: ProductionWarning[] = []
  if (config.rateLimiter === 'off') {
    warnings.push({
      variable: 'RATE_LIMITER',
      problem: 'Requests and failed authentication are not limited.',
      advice: 'Remove RATE_LIMITER or set it to auto.',
    })
  }
  if (config.auditSigningSecret === undefined) {
    warnings.push({
      variable: 'AUDIT_SIGNING_SECRET',
      problem: 'Audit entries are unsigned, so changes to them cannot be detected.',
      advice: 'Set AUDIT_SIGNING_SECRET, for example to the output of `openssl rand -base64 32`.',
    })
  }
  return warnings
}
