/** What a directory says about a group and its members. */
import { attributesOf, isObject, type PatchOperation, readOptionalText, readText, singleValue } from './read-patch.ts'
import { invalidScimValue, ScimFault } from './scim-fault.ts'
import type { Condition } from './scim-filter.ts'

export type GroupState = { displayName: string; externalId: string | null; members: Set<string> }

export const maxGroupMembers = 10_000
const maxGroupName = 256

const readGroupName = (value: unknown): string => {
  const name = readText(value, 'displayName', maxGroupName).trim()
  if (name === '') throw invalidScimValue('displayName must not be empty.')
  return name
}

const readMemberId = (given: unknown): string => {
  const value = isObject(given) ? attributesOf(given).get('value') : given
  return readText(value, 'The value of a member', 100)
}

const readMembers = (value: unknown): string[] => {
  if (value === undefined || value === null) return []
  const list = Array.isArray(value) ? value : [value]
  if (list.length > maxGroupMembers) throw invalidScimValue(`A group can have at most ${maxGroupMembers} members.`)
  return list.map(readMemberId)
}

export const readWholeGroup = (body: unknown): GroupState => {
  if (!isObject(body)) throw new ScimFault(400, 'The body must be a group.', 'invalidSyntax')
  const given = attributesOf(body)
  return {
    displayName: readGroupName(given.get('displayname')),
    externalId: readOptionalText(given.get('externalid'), 'externalId', maxGroupName),
    members: new Set(readMembers(given.get('members'))),
  }
}

/** `members[value eq "mem_…"]` */
const selectedMember = (conditions: Condition[]): string => {
  const [only] = conditions
  if (conditions.length !== 1 || only?.attribute !== 'value' || typeof only.value !== 'string') {
    throw new ScimFault(400, 'Select a member by its value: members[value eq "mem_…"].', 'invalidPath')
  }
  return only.value
}

const changeMembers = (state: GroupState, { op, conditions, value }: PatchOperation): void => {
  if (conditions) {
    const selected = selectedMember(conditions)
    if (op === 'remove') state.members.delete(selected)
    else state.members.add(selected)
    return
  }
  // Okta removes all members without a value. Entra ID gives those to remove as the value.
  if (op === 'replace' || (op === 'remove' && (value === undefined || value === null))) state.members.clear()
  for (const id of readMembers(value)) {
    if (op === 'remove') state.members.delete(id)
    else state.members.add(id)
  }
}

const readOnly = new Set(['id', 'meta', 'schemas'])

const applyOperation = (state: GroupState, operation: PatchOperation): void => {
  const { op, attribute, value, named } = operation
  if (attribute === 'members') changeMembers(state, operation)
  else if (attribute === 'displayname') {
    if (op === 'remove') throw new ScimFault(400, 'displayName cannot be removed.', 'mutability')
    state.displayName = readGroupName(singleValue(value))
  } else if (attribute === 'externalid') {
    state.externalId = op === 'remove' ? null : readOptionalText(singleValue(value), 'externalId', maxGroupName)
  } else if (readOnly.has(attribute) && named) {
    throw new ScimFault(400, `${attribute} cannot be changed.`, 'mutability')
  }
}

/** The group after all operations, in their order. */
export const patchGroup = (before: GroupState, operations: PatchOperation[]): GroupState => {
  const state = { ...before, members: new Set(before.members) }
  for (const operation of operations) applyOperation(state, operation)
  if (state.members.size > maxGroupMembers) {
    throw invalidScimValue(`A group can have at most ${maxGroupMembers} members.`)
  }
  return state
}
