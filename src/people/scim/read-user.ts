/** What a directory says about a person. Attributes that the service does not keep are ignored. */
import {
  attributesOf,
  isObject,
  type PatchOperation,
  readFlag,
  readOptionalText,
  readText,
  singleValue,
} from './read-patch.ts'
import { invalidScimValue, ScimFault } from './scim-fault.ts'

export type UserChange = {
  userName?: string
  externalId?: string | null
  givenName?: string | null
  familyName?: string | null
  displayName?: string | null
  active?: boolean
}

const maxName = 256
const maxUserName = 320

const readUserName = (value: unknown): string => {
  const name = readText(value, 'userName', maxUserName).trim()
  if (name === '') throw invalidScimValue('userName must be an email address.')
  return name
}

const readNames = (value: unknown): UserChange => {
  if (value === null || value === undefined) return { givenName: null, familyName: null }
  if (!isObject(value)) throw invalidScimValue('name must be an object.')
  const names = attributesOf(value)
  return {
    ...(names.has('givenname') && { givenName: readOptionalText(names.get('givenname'), 'givenName', maxName) }),
    ...(names.has('familyname') && { familyName: readOptionalText(names.get('familyname'), 'familyName', maxName) }),
  }
}

/** What the service assigns. A directory sends it back, so only a path that names it is an error. */
const readOnly = new Set(['id', 'meta', 'groups', 'schemas'])

const readers: Record<string, (value: unknown) => UserChange> = {
  username: (value) => ({ userName: readUserName(value) }),
  externalid: (value) => ({ externalId: readOptionalText(value, 'externalId', maxName) }),
  displayname: (value) => ({ displayName: readOptionalText(value, 'displayName', maxName) }),
  active: (value) => ({ active: readFlag(value, 'active') }),
  name: readNames,
  'name.givenname': (value) => ({ givenName: readOptionalText(value, 'name.givenName', maxName) }),
  'name.familyname': (value) => ({ familyName: readOptionalText(value, 'name.familyName', maxName) }),
}

const readerOf = (attribute: string) => (Object.hasOwn(readers, attribute) ? readers[attribute] : undefined)

/** The whole person: an attribute that is left out has no value, save `active`, which then stays as it is. */
export const readWholeUser = (body: unknown): UserChange & { userName: string } => {
  if (!isObject(body)) throw new ScimFault(400, 'The body must be a user.', 'invalidSyntax')
  const given = attributesOf(body)
  const flag = singleValue(given.get('active'))
  return {
    userName: readUserName(given.get('username') ?? undefined),
    externalId: readOptionalText(given.get('externalid'), 'externalId', maxName),
    displayName: readOptionalText(given.get('displayname'), 'displayName', maxName),
    givenName: null,
    familyName: null,
    ...readNames(given.get('name')),
    ...(flag !== undefined && flag !== null && { active: readFlag(flag, 'active') }),
  }
}

const readOperation = ({ op, attribute, value, named }: PatchOperation): UserChange => {
  if (readOnly.has(attribute)) {
    if (named) throw new ScimFault(400, `${attribute} cannot be changed.`, 'mutability')
    return {}
  }
  const read = readerOf(attribute)
  if (!read) return {}
  if (op !== 'remove') return read(singleValue(value))
  if (attribute === 'username' || attribute === 'active') {
    throw new ScimFault(400, `${attribute} cannot be removed.`, 'mutability')
  }
  return read(null)
}

/** Later operations override earlier ones. */
export const readUserPatch = (operations: PatchOperation[]): UserChange =>
  Object.assign({}, ...operations.map(readOperation)) as UserChange
