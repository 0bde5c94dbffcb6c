/** The error body under /scim/v2 (RFC 7644, section 3.12). */
import type { Failure } from '../../platform/ground/errors.ts'

export const scimContentType = 'application/scim+json; charset=utf-8'

const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'

export const scimErrorBody = (status: number, detail: string, scimType?: string): string =>
  JSON.stringify({ schemas: [errorSchema], status: String(status), ...(scimType && { scimType }), detail })

/** In SCIM, a request that cannot be read is a 400. */
const isUnreadable = (failure: Failure): boolean => failure.code === 'VALIDATION_ERROR'

export const scimStatus = (failure: Failure): number => (isUnreadable(failure) ? 400 : failure.status)

export const scimFailureBody = (failure: Failure): string => {
  const unreadable = isUnreadable(failure)
  const detail = failure.detail.errors?.[0]?.message ?? failure.message
  return scimErrorBody(scimStatus(failure), detail, unreadable ? 'invalidSyntax' : undefined)
}
