import type { components } from '../../api/schema.gen.ts'
import { tenants } from '../../strings/tenants.ts'
import { StatusDot, type Tone } from '../../ui/badge.tsx'

export type Tenant = components['schemas']['Tenant']

const tones: Record<Tenant['status'], Tone> = { active: 'ok', suspended: 'warn', archived: 'neutral', erased: 'bad' }

export const TenantStatus = ({ status }: Pick<Tenant, 'status'>) => (
  <StatusDot tone={tones[status]}>{tenants.statuses[status]}</StatusDot>
)
