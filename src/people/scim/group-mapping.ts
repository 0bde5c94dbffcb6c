/** Which role each group of the directory gives. No group gives the role of an owner. */
import type { Actor, AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { Runner, Tx } from '../../platform/db/pool.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { asOwner } from '../team/change-team.ts'
import {
  applyMappedRoles,
  type DirectoryRole,
  deleteGroupRoles,
  findMappedRole,
  findMapping,
  insertGroupRoles,
  listGroupRoles,
  putMapping,
} from './store/mapping-rows.ts'

type GroupRole = { displayName: string; role: DirectoryRole }
export type Mapping = { defaultRole: DirectoryRole; groups: GroupRole[] }

/** Group names are compared without regard to case. */
export const keyOf = (name: string): string => name.trim().toLowerCase()

const initial: Mapping = {
  defaultRole: 'viewer',
  groups: [
    { displayName: 'developers', role: 'developer' },
    { displayName: 'developer', role: 'developer' },
    { displayName: 'engineering', role: 'developer' },
    { displayName: 'members', role: 'member' },
    { displayName: 'member', role: 'member' },
    { displayName: 'viewers', role: 'viewer' },
    { displayName: 'viewer', role: 'viewer' },
    { displayName: 'read-only', role: 'viewer' },
  ],
}

/** A group with such a name gives nothing, so that nobody takes it for the owners of the org. */
const ownerNames = new Set(['owner', 'owners'])

type GivenMapping = { defaultRole?: string; groups?: { displayName: string; role: string }[] }

/** Changes by a directory, or that follow from the mapping, have no user as their actor. */
export type DirectoryActor = Extract<Actor, { kind: 'nobody' }>
export type DirectoryChange = { orgId: string; actor: DirectoryActor }

const readMapping = async (runner: Runner, orgId: string): Promise<Mapping> => {
  const stored = await runner.row(findMapping, { orgId })
  if (!stored) return initial
  const rows = await runner.rows(listGroupRoles, { orgId })
  const groups = rows.map(({ display_name: displayName, role }) => ({ displayName, role }))
  return { defaultRole: stored.default_role, groups }
}

const mappingFor = async (tx: Tx, orgId: string) => {
  const { defaultRole, groups } = await readMapping(tx, orgId)
  const giving = groups.filter(({ displayName }) => !ownerNames.has(keyOf(displayName)))
  return {
    orgId,
    defaultRole,
    keys: giving.map(({ displayName }) => keyOf(displayName)),
    roles: giving.map(({ role }) => role),
  }
}

const checked = (given: GivenMapping): Partial<Mapping> => {
  const roles = [given.defaultRole, ...(given.groups ?? []).map(({ role }) => role)]
  if (roles.includes('owner')) throw new Failure('OWNER_NOT_MAPPABLE')
  const seen = new Set<string>()
  for (const [i, { displayName }] of (given.groups ?? []).entries()) {
    const key = keyOf(displayName)
    const path = ['groups', i, 'display_name']
    if (ownerNames.has(key)) throw invalid(path, 'custom', 'A group of this name gives no role.')
    if (seen.has(key)) throw invalid(path, 'custom', 'This group is in the list twice. Names have no case.')
    seen.add(key)
  }
  return given as Partial<Mapping>
}

export const makeGroupMapping = ({ db, clock, audit }: AuditedNeeds) => {
  const applyRoles = async (tx: Tx, { orgId, actor }: DirectoryChange, userIds: string[] | null) => {
    if (userIds?.length === 0) return
    const changed = await tx.rows(applyMappedRoles, { ...(await mappingFor(tx, orgId)), userIds })
    const entry = {
      orgId,
      actor,
      action: 'member.role_changed',
      resourceType: 'membership',
    } as const
    const entries = changed.map(({ id, user_id, former, role }) => ({
      ...entry,
      resourceId: id,
      metadata: { from: former, to: role, user_id, via: 'scim' },
    }))
    await audit(tx, ...entries)
  }

  const store = async (tx: Tx, orgId: string, { defaultRole, groups }: Mapping): Promise<void> => {
    await tx.change(putMapping, { orgId, defaultRole, at: clock.now() })
    await tx.change(deleteGroupRoles, { orgId })
    await tx.change(insertGroupRoles, {
      orgId,
      keys: groups.map(({ displayName }) => keyOf(displayName)),
      names: groups.map(({ displayName }) => displayName),
      roles: groups.map(({ role }) => role),
    })
  }

  return {
    read: (orgId: string) => readMapping(db, orgId),

    /** What is left out stays as it is. The list of groups is replaced as a whole. */
    put: (orgId: string, actor: UserActor, given: GivenMapping) =>
      asOwner(db, orgId, actor, async (tx) => {
        const former = await readMapping(tx, orgId)
        const next: Mapping = { ...former, ...checked(given) }
        if (JSON.stringify(next) === JSON.stringify(former)) return former
        await store(tx, orgId, next)
        const metadata = { scim_default_role: next.defaultRole, scim_groups: next.groups.length }
        await audit(tx, { orgId, actor, action: 'org.updated', resourceType: 'org', resourceId: orgId, metadata })
        const { ip, userAgent } = actor
        await applyRoles(tx, { orgId, actor: { kind: 'nobody', ip, userAgent } }, null)
        return next
      }),

    /** The role that the groups of a user give. */
    roleOf: async (tx: Tx, orgId: string, userId: string) =>
      (await tx.row(findMappedRole, { ...(await mappingFor(tx, orgId)), userId }))?.role as string,

    /** Works out the roles of these users again, or of all. Only members whose source is `scim` get another role. */
    applyRoles,
  }
}

export type GroupMapping = ReturnType<typeof makeGroupMapping>
