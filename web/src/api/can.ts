/** Which roles a route admits, so that a control can be disabled before the service refuses it. */
import type { Gate } from './gate.ts'
import { type Role, useRole } from './session.ts'

export type { Gate } from './gate.ts'

const rolesOf: Record<Gate, readonly Role[]> = {
  requireSession: ['owner', 'developer', 'member', 'viewer'],
  requireWriteSession: ['owner', 'developer', 'member'],
  requireDeveloperSession: ['owner', 'developer'],
  requireOwnerSession: ['owner'],
}

export const can = (role: Role | undefined, gate: Gate): boolean => role !== undefined && rolesOf[gate].includes(role)

/** Why a control is disabled, or undefined when the role may use it. */
export const refusalFor = (role: Role | undefined, gate: Gate): string | undefined => {
  if (can(role, gate)) return undefined
  const [last, ...others] = [...rolesOf[gate]].reverse()
  return others.length === 0 ? `Needs the ${last} role` : `Needs the ${others.reverse().join(', ')} or ${last} role`
}

export const useRefusal = (gate: Gate | undefined): string | undefined => {
  const role = useRole()
  return gate === undefined ? undefined : refusalFor(role, gate)
}
