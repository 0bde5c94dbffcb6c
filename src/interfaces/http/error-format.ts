/** The forms of an error body. Each part of the service has one. */
import { OAuthFault } from '../../people/oauth/oauth-error.ts'
import { ScimFault } from '../../people/scim/scim-fault.ts'
import type { Failure } from '../../platform/ground/errors.ts'
import { jsonType } from './broken-request.ts'
import { envelope, flatBody, flatStatus, headersOf } from './envelope.ts'

export type ShownError = { status: number; body: string; headers: Record<string, string> }

export type ErrorFormat = {
  contentType: string
  show: (failure: Failure, requestId: string) => ShownError
  /** Errors that only this part of the service throws. Undefined for any other error. */
  showOwn?: (error: unknown) => ShownError | undefined
}

/** Of /api/v1, and of every path that belongs to no part of the service. */
export const envelopeFormat: ErrorFormat = {
  contentType: jsonType,
  show: (failure, requestId) => ({
    status: failure.status,
    body: envelope(failure, requestId),
    headers: headersOf(failure),
  }),
}

/** Of the dashboard. */
export const flatFormat: ErrorFormat = {
  contentType: jsonType,
  show: (failure) => ({ status: flatStatus(failure), body: flatBody(failure), headers: headersOf(failure) }),
}

export const scimContentType = 'application/scim+json; charset=utf-8'

const scimErrorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'

const scimErrorBody = (status: number, detail: string, scimType?: string): string =>
  JSON.stringify({ schemas: [scimErrorSchema], status: String(status), ...(scimType && { scimType }), detail })

/** In SCIM, a request that cannot be read is a 400. */
const isUnreadable = (failure: Failure): boolean => failure.code === 'VALIDATION_ERROR'

const scimStatus = (failure: Failure): number => (isUnreadable(failure) ? 400 : failure.status)

const scimFailureBody = (failure: Failure): string => {
  const unreadable = isUnreadable(failure)
  const detail = failure.detail.errors?.[0]?.message ?? failure.message
  return scimErrorBody(scimStatus(failure), detail, unreadable ? 'invalidSyntax' : undefined)
}

/** Of /scim/v2 (RFC 7644, section 3.12). */
export const scimFormat: ErrorFormat = {
  contentType: scimContentType,
  show: (failure) => ({ status: scimStatus(failure), body: scimFailureBody(failure), headers: headersOf(failure) }),
  showOwn: (error) => {
    if (!(error instanceof ScimFault)) return undefined
    const { status, message, scimType } = error
    return { status, body: scimErrorBody(status, message, scimType), headers: { 'cache-control': 'no-store' } }
  },
}

/** Neither tokens nor errors about them are cached. */
export const uncachedHeaders = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** Of the routes for OAuth clients, which expect errors in the form of the standards. */
export const oauthFormat: ErrorFormat = {
  contentType: jsonType,
  show: (failure, requestId) => {
    const shown = envelopeFormat.show(failure, requestId)
    if (failure.code !== 'UNAVAILABLE') return shown
    const body = { error: 'temporarily_unavailable', error_description: failure.message }
    return { ...shown, body: JSON.stringify(body), headers: { ...shown.headers, ...uncachedHeaders } }
  },
  showOwn: (error) => {
    if (!(error instanceof OAuthFault)) return undefined
    const { code, message, status, retryAfter } = error
    const wait: Record<string, string> =
      retryAfter === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfter))) }
    const body = JSON.stringify({ error: code, error_description: message })
    return { status, body, headers: { ...uncachedHeaders, ...wait } }
  },
}
