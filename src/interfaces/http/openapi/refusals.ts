/** The error responses of a route in the API description. */
import { z } from 'zod'
import { type Code, catalogue, type ErrorType, statusOf, typeOf } from '../../../platform/ground/errors.ts'
import type { PublicRoute } from '../route.ts'
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

const fieldCodes = ['required', 'invalid_type', 'too_small', 'too_big', 'invalid_string', 'invalid_enum'] as const

const FieldFault = z
  .object({
    path: z.array(z.union([z.string(), z.int()])).meta({ description: 'The path to the field in the request.' }),
    code: z
      .enum([...fieldCodes, 'unrecognized', 'custom', 'STILL_REFERENCED'])
      .describe('A stable code for what is wrong with the field.'),
    message: z.string().describe('What is wrong, for people. The wording may change.'),
  })
  .meta({ id: 'FieldFault' })

/** Loose, because some codes add a field, such as the id of a message that was stored before the error. */
export const ErrorBody = z
  .object({
    error: z
      .looseObject({
        type: z.enum(errorTypes).meta({ description: 'The type of error, which groups related codes.' }),
        message: z.string().meta({ description: 'A description of the error for people. The wording may change.' }),
        code: z.string().meta({ description: 'A stable code that your program can use to handle the error.' }),
        request_id: z
          .string()
          .meta({ description: 'The unique identifier of the request, also in the X-Request-Id header.' }),
        errors: z
          .array(FieldFault)
          .optional()
          .meta({ description: 'The invalid fields, or the resources that prevent a deletion.' }),
      })
      .describe('What went wrong.'),
  })
  .meta({ id: 'Error' })

const hasCursor = ({ query }: PublicRoute): boolean => query instanceof z.ZodObject && 'cursor' in query.shape

/** Codes that any route can return before its own rules are checked. */
const admissionCodes: readonly Code[] = [
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
  // A new tenant reference creates a tenant, which counts against the plan.
  'PLAN_RESOURCE_LIMIT',
]

/** Every code that the route can return, without duplicates. Codes specific to the route come first. */
export const codesOf = (route: PublicRoute): Code[] => {
  const { method, body, query, idempotent, params = {}, access, errors = [] } = route
  const codes: Code[] = []
  if (body || query || idempotent) codes.push('VALIDATION_ERROR')
  if (method === 'PATCH' && body) codes.push('NO_FIELDS')
  if (hasCursor(route)) codes.push('INVALID_CURSOR')
  // The type and size of a body are checked even if the route does not use a body.
  if (method !== 'GET') codes.push('PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE')
  if (Object.keys(params).length > 0) codes.push('NOT_FOUND')
  codes.push(...errors, ...Object.values(access.forbiddenKeys ?? {}))
  if (idempotent) codes.push('IDEMPOTENCY_MISMATCH', 'IDEMPOTENCY_IN_FLIGHT')
  codes.push(...admissionCodes, 'INTERNAL_ERROR', 'UNAVAILABLE')
  return [...new Set(codes)]
}

/** Errors that are the same on every route, described once as components. */
export const sharedErrors: Partial<Record<Code, string>> = {
  UNAUTHORIZED: 'Unauthorized',
  PAYLOAD_TOO_LARGE: 'PayloadTooLarge',
  UNSUPPORTED_MEDIA_TYPE: 'UnsupportedMediaType',
  RATE_LIMITED: 'RateLimited',
  INTERNAL_ERROR: 'InternalError',
  UNAVAILABLE: 'Unavailable',
}

export const errorResponse = (status: number, codes: Code[]): ResponseObject => {
  const waits = status === 429 || status === 503 || codes.includes('IDEMPOTENCY_IN_FLIGHT')
  const names = [
    'X-Request-Id',
    // Without a valid key there is no rate limit to report.
    ...(status === 401 ? [] : Object.keys(rateHeaders)),
    ...(waits ? ['Retry-After'] : []),
  ]
  const listed = codes.map((code) => `\`${code}\``).join(', ')
  return {
    description: `${statusTexts[status] ?? 'The request failed.'} ${codes.length === 1 ? 'Code' : 'Codes'}: ${listed}.`,
    headers: referToAll('headers', names),
    content: {
      'application/json': { schema: referTo('schemas', 'Error'), examples: referToAll('examples', codes) },
    },
    'x-error-codes': codes,
  }
}

export const errorResponses = (route: PublicRoute): Record<string, ResponseObject | Reference> => {
  const byStatus = Map.groupBy(codesOf(route), statusOf)
  const rows = [...byStatus].map(([status, codes]) => {
    const name = codes.length === 1 ? sharedErrors[codes[0] as Code] : undefined
    return [String(status), name ? referTo('responses', name) : errorResponse(status, codes)] as const
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
