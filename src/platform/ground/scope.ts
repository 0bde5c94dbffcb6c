import { Failure } from './errors.ts'

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

/** A test key cannot change what a live key created, or what live messages use. */
export const assertOwnEnvironment = ({ environment }: Pick<Scope, 'environment'>, of: Environment): void => {
  if (environment === 'test' && of === 'live') throw new Failure('ENVIRONMENT_ESCALATION')
}
