export type Environment = 'live' | 'test'

/**
 * Whose rows a call may touch. Every finder takes it first: org, then tenant and environment, then project.
 * A null tenant is the whole org; a null project is every project.
 */
export type Scope = {
  orgId: string
  tenantId: string | null
  environment: Environment
  projectId: string | null
}
