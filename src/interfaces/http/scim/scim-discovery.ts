/** What the service says about itself to a directory (RFC 7643, sections 5 to 7). */
import { notInDirectory } from '../../../people/scim/scim-fault.ts'
import { maxCount } from './scim-query.ts'
import { groupSchema, type Shown, shownList, userSchema } from './shown-directory.ts'

export const serviceProviderConfig = (base: string): Shown => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxCount },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Directory token',
      description: 'A token that an owner of the organisation creates in the dashboard.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

const resourceType = (name: 'User' | 'Group', schema: string, base: string): Shown => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
  id: name,
  name,
  endpoint: `/${name}s`,
  schema,
  schemaExtensions: [],
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
})

type Detail = {
  required?: boolean
  mutability?: string
  uniqueness?: string
  multiValued?: boolean
  caseExact?: boolean
}

const attribute = (name: string, type: string, detail: Detail = {}, subAttributes?: Shown[]): Shown => ({
  name,
  type,
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...detail,
  ...(subAttributes && { subAttributes }),
})

const userAttributes = [
  attribute('userName', 'string', { required: true, uniqueness: 'server' }),
  attribute('externalId', 'string', { caseExact: true }),
  attribute('name', 'complex', {}, [attribute('givenName', 'string'), attribute('familyName', 'string')]),
  attribute('displayName', 'string'),
  attribute('emails', 'complex', { multiValued: true, mutability: 'readOnly' }, [
    attribute('value', 'string', { mutability: 'readOnly' }),
    attribute('primary', 'boolean', { mutability: 'readOnly' }),
  ]),
  attribute('active', 'boolean'),
  attribute('groups', 'complex', { multiValued: true, mutability: 'readOnly' }, [
    attribute('value', 'string', { mutability: 'readOnly' }),
    attribute('display', 'string', { mutability: 'readOnly' }),
  ]),
]

const groupAttributes = [
  attribute('displayName', 'string', { required: true, uniqueness: 'server' }),
  attribute('externalId', 'string', { caseExact: true }),
  attribute('members', 'complex', { multiValued: true }, [
    attribute('value', 'string', { mutability: 'immutable' }),
    attribute('display', 'string', { mutability: 'readOnly' }),
  ]),
]

const schema = (id: string, name: string, attributes: Shown[], base: string): Shown => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
  id,
  name,
  attributes,
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
})

export const resourceTypes = (base: string): Shown[] => [
  resourceType('User', userSchema, base),
  resourceType('Group', groupSchema, base),
]

export const scimSchemas = (base: string): Shown[] => [
  schema(userSchema, 'User', userAttributes, base),
  schema(groupSchema, 'Group', groupAttributes, base),
]

export const wholeShownList = (resources: Shown[]): Shown => shownList(resources, resources.length, 1)

export const describedOne = (resources: Shown[], id: string): Shown => {
  const found = resources.find((one) => one.id === id)
  if (!found) throw notInDirectory()
  return found
}
