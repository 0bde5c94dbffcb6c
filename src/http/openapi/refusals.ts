/** Which refusals a route can answer with, and how they look. */
import { z } from 'zod'
import { type Code, catalogue, type ErrorType, statusOf, typeOf } from '../../ground/errors.ts'
import type { Route } from '../route.ts'
import { type Example, type Reference, type ResponseObject, referTo, referToAll } from './document.ts'
import { rateHeaders } from './documented-headers.ts'
import { statusTexts } from './prose.ts'

const errorTypes = [
  'authentication_error',
  'validation_error',
  'rate_limit_error',
  'not_found_error',
  'server_error',
] as const satisfies ErrorType[]

const faults = ['required', 'invalid_type', 'too_small', 'too_big', 'invalid_string', 'invalid_enum'] as const

const FieldFault = z
  .object({
    path: z.array(z.union([z.string(), z.int()])).meta({ description: 'Where it stands in what was sent.' }),
    code: z.enum([...faults, 'unrecognized', 'custom', 'STILL_REFERENCED']),
    message: z.string(),
  })
  .meta({ id: 'FieldFault' })

/** Loose, since some codes add a member of their own, such as the id of what was stored all the same. */
export const ErrorBody = z
  .object({
    error: z.looseObject({
      type: z.enum(errorTypes).meta({ description: 'What kind of refusal it is, for a first branch.' }),
      message: z.string().meta({ description: 'For people; its wording may change.' }),
      code: z.string().meta({ description: 'For programs; stable.' }),
      request_id: z.string().meta({ description: 'The same as X-Request-Id.' }),
      errors: z.array(FieldFault).optional().meta({ description: 'A row per fault, or per kind still in use.' }),
    }),
  })
  .meta({ id: 'Error' })

const hasCursor = ({ query }: Route): boolean => query instanceof z.ZodObject && 'cursor' in query.shape

/** What any route can answer before its own rules are asked. */
const ofDoor: readonly Code[] = [
  'INSUFFICIENT_SCOPE',
  'UNAUTHORIZED',
  'ORG_SUSPENDED',
  'IP_NOT_ALLOWED',
  'RATE_LIMITED',
  'TENANT_SUSPENDED',
  'TENANT_ARCHIVED',
  'TENANT_NOT_FOUND',
  'TENANT_KEY_FORBIDDEN',
  'TENANT_NOT_USABLE',
  'INVALID_TENANT_REF',
  // A tenant made from its reference is one more.
  'PLAN_RESOURCE_LIMIT',
]

/** Every code the route can answer with, each once; what is particular to it comes first. */
export const codesOf = (route: Route): Code[] => {
  const { method, body, query, idempotent, params = {}, bars = {}, refuses = [] } = route
  const codes: Code[] = []
  if (body || query || idempotent) codes.push('VALIDATION_ERROR')
  if (hasCursor(route)) codes.push('INVALID_CURSOR')
  // A body is read, and judged by its kind and size, whether the route asks for one or not.
  if (method !== 'GET') codes.push('PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE')
  if (Object.keys(params).length > 0) codes.push('NOT_FOUND')
  codes.push(...refuses, ...Object.values(bars))
  if (idempotent) codes.push('IDEMPOTENCY_MISMATCH', 'IDEMPOTENCY_IN_FLIGHT')
  codes.push(...ofDoor, 'INTERNAL_ERROR')
  return [...new Set(codes)]
}

/** Refusals that read the same wherever they occur: described once. */
export const sharedRefusals: Partial<Record<Code, string>> = {
  UNAUTHORIZED: 'Unauthorized',
  PAYLOAD_TOO_LARGE: 'PayloadTooLarge',
  UNSUPPORTED_MEDIA_TYPE: 'UnsupportedMediaType',
  RATE_LIMITED: 'RateLimited',
  INTERNAL_ERROR: 'InternalError',
}

export const refusalResponse = (status: number, codes: Code[]): ResponseObject => {
  const waits = status === 429 || codes.includes('IDEMPOTENCY_IN_FLIGHT')
  const names = [
    'X-Request-Id',
    // Who cannot be told apart from a stranger has no bucket yet.
    ...(status === 401 ? [] : Object.keys(rateHeaders)),
    ...(waits ? ['Retry-After'] : []),
  ]
  const listed = codes.map((code) => `\`${code}\``).join(', ')
  return {
    description: `${statusTexts[status] ?? 'Refused.'} ${codes.length === 1 ? 'Code' : 'Codes'}: ${listed}.`,
    headers: referToAll('headers', names),
    content: {
      'application/json': { schema: referTo('schemas', 'Error'), examples: referToAll('examples', codes) },
    },
    'x-error-codes': codes,
  }
}

export const refusals = (route: Route): Record<string, ResponseObject | Reference> => {
  const byStatus = Map.groupBy(codesOf(route), statusOf)
  const rows = [...byStatus].map(([status, codes]) => {
    const name = codes.length === 1 ? sharedRefusals[codes[0] as Code] : undefined
    return [String(status), name ? referTo('responses', name) : refusalResponse(status, codes)] as const
  })
  return Object.fromEntries(rows)
}

export const exampleOf = (code: Code): Example => ({
  summary: code,
  value: {
    error: {
      type: typeOf(code),
      message: catalogue[code].text,
      code,
      request_id: 'req_01k5w3v8q6e9rbx2t7m4n0c1yz',
      ...(code === 'VALIDATION_ERROR' && {
        errors: [{ path: ['value'], code: 'required', message: 'Required.' }],
      }),
    },
  },
})
