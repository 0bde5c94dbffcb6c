/** An error in the form of the OAuth standards, which clients expect instead of the error envelope. */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'temporarily_unavailable'
  | 'access_denied'

export class OAuthFault extends Error {
  readonly code: OAuthErrorCode
  readonly status: number
  /** In seconds. */
  readonly retryAfter: number | undefined

  constructor(code: OAuthErrorCode, description: string, more: { status?: number; retryAfter?: number } = {}) {
    super(description)
    this.name = 'OAuthFault'
    this.code = code
    this.status = more.status ?? (code === 'invalid_client' ? 401 : 400)
    this.retryAfter = more.retryAfter
  }
}
