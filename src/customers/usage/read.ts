import type { z } from 'zod'
import type { Db } from '../../platform/db/pool.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { Usage } from './reserve.ts'
import type { UsageReport } from './shapes.ts'
import { type CounterRow, readCounters, readKeyCounters } from './store.ts'

type UsageQuery = {
  orgId: string
  tenantId: string | null
  environment: Environment
  period: string
  byKey: boolean
}

/** Reads usage and limits of a month. With a tenant id, both are those of the tenant. */
export type ReadUsage = (query: UsageQuery) => Promise<z.output<typeof UsageReport>>

const micros = 1_000_000

/** Formats an amount exactly, without floating-point division. */
export const usd = (amount: number, decimals: number): string => {
  const whole = Math.trunc(amount / micros)
  const rest = String(amount - whole * micros).padStart(6, '0')
  return `${whole}.${rest.slice(0, decimals)}`
}

const usedBy = (rows: CounterRow[]) => {
  const used = new Map(rows.map((row) => [row.measure, row.used]))
  return (measure: string): number => used.get(measure) ?? 0
}

const remaining = (limit: number | null, used: number): number | null =>
  limit === null ? null : Math.max(0, limit - used)

export const makeReadUsage = ({ db, usage }: { db: Db; usage: Pick<Usage, 'allowanceOf'> }): ReadUsage => {
  const byKeyRows = async ({ orgId, environment, period }: UsageQuery) => {
    const rows = await db.rows(readKeyCounters, { orgId, environment, period })
    const subjects = [...new Set(rows.map((row) => row.subject))]
    return subjects.map((subject) => {
      const own = rows.filter((row) => row.subject === subject)
      const used = usedBy(own)
      return {
        key_id: subject === 'no_key' ? null : subject,
        name: own[0]?.name ?? null,
        email: used('email'),
        sms: used('sms'),
        segments: used('segments'),
        spend: usd(used('spend'), 6),
      }
    })
  }

  return async (query) => {
    const { orgId, tenantId, environment, period } = query
    const allowance = await usage.allowanceOf(orgId, tenantId)
    const used = usedBy(await db.rows(readCounters, { orgId, subject: tenantId ?? 'org', environment, period }))
    const plan = environment === 'live' ? allowance.quota : { email: null, sms: null }
    const limit = tenantId === null ? plan : allowance.tenantQuota
    const cap = allowance.spendCapMicros
    return {
      period,
      environment,
      plan: allowance.plan,
      tenant_id: tenantId,
      email: { used: used('email'), limit: limit.email, remaining: remaining(limit.email, used('email')) },
      sms: {
        used: used('sms'),
        segments: used('segments'),
        limit: limit.sms,
        remaining: remaining(limit.sms, used('sms')),
      },
      spend:
        tenantId === null
          ? {
              currency: 'USD' as const,
              used: usd(used('spend'), 6),
              cap: cap === null ? null : usd(cap, 2),
              remaining: cap === null ? null : usd(Math.max(0, cap - used('spend')), 6),
            }
          : null,
      ...(query.byKey && { by_key: await byKeyRows(query) }),
    }
  }
}
