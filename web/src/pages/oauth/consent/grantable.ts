import { can } from '../../../api/can.ts'
import type { operations } from '../../../api/schema.gen.ts'
import type { Role } from '../../../api/session.ts'

export type ConsentRequest = operations['getApiInternalOauthRequest']['responses'][200]['content']['application/json']
export type AskedScope = ConsentRequest['scopes'][number]

/** The service refuses the same. Here it disables the checkbox before somebody tries. */
export const mayGrant = (role: string | undefined, { name, grantable }: AskedScope): boolean =>
  grantable && role !== undefined && (name.startsWith('read:') || can(role as Role, 'requireDeveloperSession'))

const sending = ['send:email', 'send:sms', 'write:verifications', 'write:audiences']

export const sendsMessages = (scopes: readonly string[]): boolean => scopes.some((name) => sending.includes(name))
