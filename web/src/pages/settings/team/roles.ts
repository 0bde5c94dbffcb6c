import type { Role } from '../../../api/session.ts'
import { team } from '../../../strings/settings.ts'

export const roleNames: readonly Role[] = ['owner', 'developer', 'member', 'viewer']

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const shortRoles = roleNames.map((value) => ({ value, label: capital(value) }))
export const explainedRoles = roleNames.map((value) => ({ value, label: team.roles[value] }))
