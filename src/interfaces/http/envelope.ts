import {
  type Code,
  codelessRefusals,
  envelope,
  Failure,
  malformed,
  retryAfterOf,
} from '../../platform/ground/errors.ts'
import { megabyte } from '../../platform/ground/units.ts'

export { envelope, malformed }

/** Sentences of the flat error body that differ from those under /api/v1. */
const flatSentences: Partial<Record<Code, string>> = {
  UNAUTHORIZED: 'Unauthorized',
  NOT_FOUND: 'Not found',
  INVALID_CURSOR: 'Invalid cursor',
  INTERNAL_ERROR: 'Internal server error',
  VALIDATION_ERROR: 'Validation failed',
  ORG_SUSPENDED: 'Organisation suspended',
  KEY_REVOKED: 'Key is revoked',
  KEY_CREATION_RATE_LIMITED: 'API key creation limit reached: 10 per hour',
  TENANT_NOT_USABLE: 'The tenant is suspended or archived',
}

/** The fields of the error body under /api/internal and /api/auth. */
export const flatFields = ({ code, message, detail }: Failure) => ({
  error: detail.flatMessage ?? flatSentences[code] ?? message,
  code: codelessRefusals.has(code) ? undefined : code,
  errors: detail.errors,
  ...detail.extra,
})

export const flatBody = (failure: Failure): string => JSON.stringify(flatFields(failure))

/** Under /api/internal and /api/auth an invalid cursor is a 400. Other codes keep the catalogue's status. */
export const flatStatus = (failure: Failure): number => (failure.code === 'INVALID_CURSOR' ? 400 : failure.status)

export const headersOf = (failure: Failure): Record<string, string> => {
  const seconds = retryAfterOf(failure)
  return {
    ...failure.detail.headers,
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
  }
}

const shownSize = (bytes: number): string => {
  if (bytes % megabyte === 0) return `${bytes / megabyte} MB`
  return bytes % 1_024 === 0 ? `${bytes / 1_024} KB` : `${bytes} bytes`
}

/** Names the limit, so that a caller knows what to send instead. */
export const bodyTooLarge = (limit: number): Failure => {
  const shown = shownSize(limit)
  return new Failure('PAYLOAD_TOO_LARGE', {
    message: `The request body exceeds ${shown}. Send a smaller body.`,
    flatMessage: 'Request body too large',
  })
}

type FrameworkError = { code?: string; statusCode?: number }

/** Maps Fastify's errors to the catalogue. Undefined for an error that the caller did not cause. */
export const fromFramework = (error: FrameworkError): Failure | undefined => {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Failure('PAYLOAD_TOO_LARGE')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new Failure('UNSUPPORTED_MEDIA_TYPE')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return malformed('The body length does not match Content-Length.')
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      // Fastify sets a status on errors while it reads a body. Without one, the service lost an outgoing connection.
      return error.statusCode === 400 ? malformed('The connection closed before the whole body arrived.') : undefined
    default:
      return undefined
  }
}
