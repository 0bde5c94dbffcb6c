/** A directory that provisions people and groups of an org over SCIM. */
import { expect } from 'vitest'
import type { Ask, Reply, ServiceOptions, TestService } from '../service/service.ts'
import { type Member, primaryOwner } from './team-client.ts'

/** The domain that every org of these tests has verified. */
export const directoryDomain = 'corp.test'

export const verifiedDomains: ServiceOptions = {
  isVerifiedFor: async (_orgId, email) => email.endsWith(`@${directoryDomain}`),
}

export type Directory = {
  orgId: string
  owner: Member
  token: string
  ask(method: string, path: string, body?: unknown, more?: Ask): Promise<Reply>
}

export const scimAs =
  (t: TestService, token: string) =>
  (method: string, path: string, body?: unknown, more: Ask = {}) =>
    t.ask(method, `/scim/v2${path}`, {
      ...(body !== undefined && { body }),
      ...more,
      headers: {
        authorization: `Bearer ${token}`,
        ...((body !== undefined || more.raw !== undefined) && { 'content-type': 'application/scim+json' }),
        ...more.headers,
      },
    })

export const newScimToken = async (owner: Member, name = 'Okta'): Promise<string> =>
  (await owner.ask('POST', '/api/internal/scim/tokens', { name })).body.token

/** A new org with a token of its directory. */
export const directory = async (t: TestService): Promise<Directory> => {
  const { org } = await t.org()
  const owner = await primaryOwner(t, org.id)
  const token = await newScimToken(owner)
  return { orgId: org.id, owner, token, ask: scimAs(t, token) }
}

let people = 0
/** An address that no account has. */
export const freshAddress = (name = 'bob'): string => `${name}${++people}@${directoryDomain}`

export const userBody = (userName: string, more: object = {}) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName,
  ...more,
})

export const groupBody = (displayName: string, memberIds: string[] = []) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
  displayName,
  members: memberIds.map((value) => ({ value })),
})

export const patchBody = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

export const scimError = (status: number, scimType?: string) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: String(status),
  ...(scimType && { scimType }),
  detail: expect.any(String),
})

/** Role and source of each member of an org, by address. */
export const membersOf = async (t: TestService, orgId: string): Promise<Record<string, string>> => {
  const rows = await t.database.sql<{ email: string; role: string; source: string }>(
    'select u.email, m.role, m.source from memberships m join users u on u.id = m.user_id where m.org_id = $1',
    [orgId],
  )
  return Object.fromEntries(rows.map(({ email, role, source }) => [email, `${role} ${source}`]))
}
