/** Every route of the dashboard with its gate, and what it returns to a caller whom the gate admits. Add a line for a new route. */
import type { SessionGate } from '../../src/http/dashboard/dashboard-route.ts'

export type Line = {
  gate: SessionGate
  /** The status for a caller whom the gate admits. A change is sent with an empty object, so it usually is 422. */
  admitted: number
  /** Sent instead of an empty object. */
  body?: unknown
  /** Starts with a question mark. */
  query?: string
  /** A change that a suspended org may still make. */
  whileSuspended?: 'open'
  /** The one change that pages of other sites may send. */
  fromOtherSites?: true
}

export const matrix: Record<string, Line> = {
  'POST /api/auth/register': { gate: 'public', admitted: 422 },
  'POST /api/auth/verify-email': { gate: 'public', admitted: 422 },
  'POST /api/auth/verify-phone': { gate: 'requireUserSession', admitted: 422 },
  'POST /api/auth/resend-verification': { gate: 'public', admitted: 422 },
  'POST /api/auth/login': { gate: 'public', admitted: 422 },
  'POST /api/auth/login/code': { gate: 'public', admitted: 422 },
  'POST /api/auth/login/2fa': { gate: 'public', admitted: 422 },
  'POST /api/auth/login/resend': { gate: 'public', admitted: 422 },
  'POST /api/auth/logout': { gate: 'public', admitted: 204 },
  'POST /api/auth/forgot-password': { gate: 'public', admitted: 422 },
  'POST /api/auth/reset-password': { gate: 'public', admitted: 422 },
  'GET /api/auth/google': { gate: 'public', admitted: 404 },
  'GET /api/auth/google/callback': { gate: 'public', admitted: 404 },
  'GET /api/auth/github': { gate: 'public', admitted: 404 },
  'GET /api/auth/github/callback': { gate: 'public', admitted: 404 },
  'GET /api/auth/oidc': { gate: 'public', admitted: 404 },
  'GET /api/auth/oidc/callback': { gate: 'public', admitted: 404 },
  'GET /api/auth/providers': { gate: 'public', admitted: 200 },
  'GET /api/auth/saml/login': { gate: 'public', admitted: 302 },
  'GET /api/auth/saml/metadata': { gate: 'public', admitted: 200 },
  'POST /api/auth/saml/acs': { gate: 'public', admitted: 302, fromOtherSites: true },
  'GET /api/auth/sso/login': { gate: 'public', admitted: 302 },
  'GET /api/auth/sso/callback': { gate: 'public', admitted: 302 },
  'GET /api/internal/sso': { gate: 'requireSession', admitted: 200 },
  'PUT /api/internal/sso': { gate: 'requireOwnerSession', admitted: 422 },
  'DELETE /api/internal/sso': { gate: 'requireOwnerSession', admitted: 404 },
  'POST /api/internal/sso/domains': { gate: 'requireOwnerSession', admitted: 422 },
  'DELETE /api/internal/sso/domains': { gate: 'requireOwnerSession', admitted: 422 },
  'POST /api/internal/sso/domains/verify': { gate: 'requireOwnerSession', admitted: 422 },
  'GET /api/auth/session': { gate: 'public', admitted: 200 },
  'GET /api/internal/user': { gate: 'requireUserSession', admitted: 200 },
  'PATCH /api/internal/user': { gate: 'requireUserSession', admitted: 422 },
  'POST /api/internal/user/password': { gate: 'requireUserSession', admitted: 422 },
  'GET /api/internal/user/2fa': { gate: 'requireUserSession', admitted: 200 },
  'POST /api/internal/user/2fa/setup': { gate: 'requireUserSession', admitted: 200 },
  'POST /api/internal/user/2fa/enable': { gate: 'requireUserSession', admitted: 422 },
  'POST /api/internal/user/2fa/disable': { gate: 'requireUserSession', admitted: 422 },
  'POST /api/internal/user/2fa/backup-codes': { gate: 'requireUserSession', admitted: 422 },
  'GET /api/internal/sessions': { gate: 'requireUserSession', admitted: 200 },
  'DELETE /api/internal/sessions': { gate: 'requireUserSession', admitted: 422 },
  'GET /api/internal/org/session-policy': { gate: 'requireSession', admitted: 200 },
  'PATCH /api/internal/org/session-policy': { gate: 'requireOwnerSession', admitted: 422 },
  'GET /api/internal/api-keys': { gate: 'requireSession', admitted: 200 },
  'GET /api/internal/audit': { gate: 'requireDeveloperSession', admitted: 200 },
  'GET /api/internal/audit/chain': { gate: 'requireOwnerSession', admitted: 503 },
  'GET /api/internal/audit/verify': { gate: 'requireOwnerSession', admitted: 503 },
  'GET /api/internal/org': { gate: 'requireSession', admitted: 200 },
  'POST /api/internal/org': { gate: 'requireUserSession', admitted: 422 },
  'PATCH /api/internal/org': { gate: 'requireOwnerSession', admitted: 422 },
  'DELETE /api/internal/org': { gate: 'requireOwnerSession', admitted: 422 },
  'POST /api/internal/org/switch': { gate: 'requireUserSession', admitted: 422 },
  'POST /api/internal/org/transfer-ownership': { gate: 'requireOwnerSession', admitted: 422 },
  'GET /api/internal/orgs': { gate: 'requireUserSession', admitted: 200 },
  'GET /api/internal/team/members': { gate: 'requireSession', admitted: 200 },
  'PATCH /api/internal/team/members': { gate: 'requireOwnerSession', admitted: 422 },
  'DELETE /api/internal/team/members': { gate: 'requireOwnerSession', admitted: 422 },
  'GET /api/internal/team/invite': { gate: 'requireSession', admitted: 200 },
  'POST /api/internal/team/invite': { gate: 'requireOwnerSession', admitted: 422 },
  'PATCH /api/internal/team/invite': { gate: 'requireOwnerSession', admitted: 422 },
  'DELETE /api/internal/team/invite': { gate: 'requireOwnerSession', admitted: 422 },
  'POST /api/internal/team/accept': { gate: 'requireUserSession', admitted: 422 },
  'POST /api/internal/team/decline': { gate: 'requireUserSession', admitted: 422 },
  'DELETE /api/internal/user': { gate: 'requireUserSession', admitted: 422 },
  'GET /api/auth/invitation': { gate: 'public', admitted: 422 },
}
