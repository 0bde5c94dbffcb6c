import type { Environment, Scope } from '../../ground/scope.ts'
import type { MemberSession } from './dashboard-route.ts'

/** A member reaches every tenant and project of the active org. What a request creates is live unless it says otherwise. */
export const scopeOf = ({ orgId }: MemberSession, environment: Environment = 'live'): Scope => ({
  orgId,
  tenantId: null,
  environment,
  projectId: null,
})
