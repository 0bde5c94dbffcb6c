import type { z } from 'zod'
import type { Db } from '../db/pool.ts'
import type { Environment } from '../ground/scope.ts'
import type { Usage } from './reserve.ts'
import type { UsageReport } from './shapes.ts'
import { type CounterRow, readCounters, readKeyCounters } from './store.ts'

type Asked = {
  orgId: string
  tenantId: string | null
  environment: Environment
  period: string
  byKey: boolean
}

/** What was used in a month, beside what may be. For one tenant the figures and limits are the tenant's. */
export type ReadUsage = (asked: Asked) => Promise<z.output<typeof UsageReport>>

const micros = 1_000_000

/** Exact: never through floating point. */
export const usd = (amount: number, decimals: number): string => {
  const whole = Math.trunc(amount / micros)
  const rest = String(amount - whole * micros).padStart(6, '0')
  return `${whole}.${rest.slice(0, decimals)}`
}

const figures = (rows: CounterRow[]) => {
  const used = new Map(rows.map((row) => [row.measure, row.used]))
  return (measure: string): number => used.get(measure) ?? 0
}

const left = (limit: number | null, used: number): number | null => (limit === null ? null : Math.max(0, limit - used))

export const makeReadUsage = ({ db, usage }: { db: Db; usage: Pick<Usage, 'allowanceOf'> }): ReadUsage => {
  const byKeyRows = async ({ orgId, environment, period }: Asked) => {
    const rows = await db.rows(readKeyCounters, { orgId, environment, period })
    const subjects = [...new Set(rows.map((row) => row.subject))]
    return subjects.map((subject) => {
      const own = rows.filter((row) => row.subject === subject)
      const of = figures(own)
      return {
        key_id: subject === 'no_key' ? null : subject,
        name: own[0]?.name ?? null,
        email: of('email'),
        sms: of('sms'),
        segments: of('segments'),
        spend: usd(of('spend'), 6),
      }
    })
  }

  return async (asked) => {
    const { orgId, tenantId, environment, period } = asked
    const allowance = await usage.allowanceOf(orgId, tenantId)
    const of = figures(await db.rows(readCounters, { orgId, subject: tenantId ?? 'org', environment, period }))
    const plan = environment === 'live' ? allowance.quota : { email: null, sms: null }
    const limit = tenantId === null ? plan : allowance.tenantQuota
    const cap = allowance.spendCapMicros
    return {
      period,
      environment,
      plan: allowance.plan,
      tenant_id: tenantId,
      email: { used: of('email'), limit: limit.email, remaining: left(limit.email, of('email')) },
      sms: {
        used: of('sms'),
        segments: of('segments'),
        limit: limit.sms,
        remaining: left(limit.sms, of('sms')),
      },
      spend:
        tenantId === null
          ? {
              currency: 'USD' as const,
              used: usd(of('spend'), 6),
              cap: cap === null ? null : usd(cap, 2),
              remaining: cap === null ? null : usd(Math.max(0, cap - of('spend')), 6),
            }
          : null,
      ...(asked.byKey && { by_key: await byKeyRows(asked) }),
    }
  }
}
