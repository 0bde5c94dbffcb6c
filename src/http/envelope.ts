import { Failure, malformed, retryAfterOf, typeOf } from '../ground/errors.ts'

export { malformed }

/** The body of an error under /api/v1. */
export const envelope = (failure: Failure, requestId: string): string =>
  JSON.stringify({
    error: {
      type: typeOf(failure.code),
      message: failure.message,
      code: failure.code,
      request_id: requestId,
      ...(failure.detail.errors && { errors: failure.detail.errors }),
      ...failure.detail.extra,
    },
  })

/** The flat body of an error under /api/internal. */
export const flatBody = (failure: Failure): string => {
  if (failure.code === 'UNAUTHORIZED') return '{"error":"Unauthorized"}'
  if (failure.code === 'NOT_FOUND') return '{"error":"Not found"}'
  if (failure.code === 'INVALID_CURSOR') return '{"error":"Invalid cursor"}'
  if (failure.code === 'INTERNAL_ERROR') return '{"error":"Internal server error"}'
  const message = failure.code === 'VALIDATION_ERROR' ? 'Validation failed' : failure.message
  return JSON.stringify({ error: message, code: failure.code, errors: failure.detail.errors })
}

/** Flat bodies answer a bad cursor with 400; everything else keeps the status of the catalogue. */
export const flatStatus = (failure: Failure): number => (failure.code === 'INVALID_CURSOR' ? 400 : failure.status)

export const headersOf = (failure: Failure): Record<string, string> => {
  const seconds = retryAfterOf(failure)
  return {
    ...failure.detail.headers,
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
  }
}

type FrameworkError = { code?: string; statusCode?: number }

/** Fastify's own refusals in our words; undefined for what is a fault of ours. */
export const fromFramework = (error: FrameworkError): Failure | undefined => {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Failure('PAYLOAD_TOO_LARGE')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new Failure('UNSUPPORTED_MEDIA_TYPE')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return malformed('The body is not as long as Content-Length says.')
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      // Fastify gives a status to what it met while reading a body; without one, a connection of ours was lost.
      return error.statusCode === 400 ? malformed('The body was cut off.') : undefined
    default:
      return undefined
  }
}
