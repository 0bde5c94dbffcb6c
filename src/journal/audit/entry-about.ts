import type { Actor } from './append.ts'

/** What an audit entry says about who did something, and to which resource. The caller adds the action. */
export const entryAbout = (orgId: string, actor: Actor, resourceType: string, resourceId: string) => ({
  orgId,
  actor,
  resourceType,
  resourceId,
})
