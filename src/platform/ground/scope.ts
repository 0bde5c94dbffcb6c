export type Environment = 'live' | 'test'

/**
 * The rows that a call may read and change. Every function that reads or changes rows has it as its first parameter. A
 * null tenant means the whole org; a null project means every project.
 */
export type Scope = {
  orgId: string
  tenantId: string | null
  environment: Environment
  projectId: string | null
}
