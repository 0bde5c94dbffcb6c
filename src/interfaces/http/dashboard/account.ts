/** A signed-in person's own account: profile, password, second factor and sessions. */
import { z } from 'zod'
import type { Device, ManageSessions } from '../../accounts/manage-sessions.ts'
import { assertOpenTo } from '../../accounts/sso-enforcement.ts'
import type { Db } from '../../db/pool.ts'
import { givenId } from '../../ground/bounded-text.ts'
import type { ChangePassword } from '../../signin/change-password.ts'
import type { Profiles } from '../../signin/profile.ts'
import type { SecondFactor } from '../../signin/second-factor.ts'
import * as shapes from '../../signin/shapes.ts'
import type { AccountRow } from '../../signin/store/user-rows.ts'
import { flatFields } from '../envelope.ts'
import { fromOf } from './auth.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, wholeList } from './list-query.ts'

export type AccountNeeds = {
  db: Db
  profiles: Profiles
  changePassword: ChangePassword
  secondFactor: SecondFactor
  manageSessions: ManageSessions
}

const shownUser = (row: AccountRow) => ({
  id: row.id,
  email: row.email,
  name: row.name,
  email_verified: row.email_verified_at !== null,
  phone: row.phone,
  phone_verified: row.phone_verified_at !== null,
  has_password: row.password_hash !== null,
  two_factor_enabled: row.totp_enabled_at !== null,
})

const shownProfile = (row: AccountRow) => ({
  ...shownUser(row),
  default_org_id: row.default_org_id,
  created_at: row.created_at.toISOString(),
})

const profileRoutes = ({ db, profiles, changePassword }: AccountNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/auth/session',
    gate: 'public',
    responses: { 200: shapes.SessionResponse },
    handle: async ({ findSession }) => {
      const session = await findSession()
      if (!session) return { status: 200, body: { user: null } }
      const [account, orgs] = await Promise.all([profiles.read(session.userId), profiles.orgs(session.userId)])
      const active = orgs.find(({ id }) => id === session.member?.orgId)
      const closed = session.closed && orgs.find(({ id }) => id === session.orgId)
      const shownOrg = ({ id, name, slug, role }: (typeof orgs)[number]) => ({ id, name, slug, role })
      const body = {
        user: shownUser(account),
        session: {
          id: session.sessionId,
          method: session.method,
          created_at: session.createdAt.toISOString(),
          expires_at: session.expiresAt.toISOString(),
        },
        active_org: active
          ? { ...shownOrg(active), suspended: active.suspended, suspension_reason: active.suspension_reason }
          : null,
        ...(closed && session.closed && { closed_org: { ...shownOrg(closed), ...flatFields(session.closed) } }),
        orgs: orgs.map(shownOrg),
      }
      return { status: 200, body }
    },
  }),
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/user',
    gate: 'requireUserSession',
    responses: { 200: shapes.Profile },
    handle: async ({ session }) => ({ status: 200, body: shownProfile(await profiles.read(session.userId)) }),
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path: '/api/internal/user',
    gate: 'requireUserSession',
    body: shapes.ProfileBody,
    responses: { 200: shapes.Profile },
    handle: async ({ session, body: { name, default_org_id: defaultOrgId } }) => {
      if (defaultOrgId !== undefined) await assertOpenTo(db, session, defaultOrgId)
      const change = { ...(name !== undefined && { name }), ...(defaultOrgId !== undefined && { defaultOrgId }) }
      return { status: 200, body: shownProfile(await profiles.change(session.userId, change)) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/user/password',
    gate: 'requireUserSession',
    ownFactors: true,
    body: shapes.PasswordBody,
    responses: { 200: shapes.PasswordResponse },
    handle: async ({ session, body, ...where }) => {
      const given = { current: body.current_password, next: body.new_password }
      await changePassword.change(session, given, fromOf(where))
      return { status: 200, body: { status: 'password_changed' } }
    },
  }),
]

const factorRoutes = ({ secondFactor }: AccountNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/user/2fa',
    gate: 'requireUserSession',
    responses: { 200: shapes.FactorStatusResponse },
    handle: async ({ session }) => {
      const { enabledAt, backupCodesLeft } = await secondFactor.status(session.userId)
      const enabled_at = enabledAt?.toISOString() ?? null
      return { status: 200, body: { enabled: enabledAt !== null, enabled_at, backup_codes_left: backupCodesLeft } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/user/2fa/setup',
    gate: 'requireUserSession',
    ownFactors: true,
    responses: { 200: shapes.FactorSetupResponse },
    handle: async ({ session }) => {
      const { secret, url, svg } = await secondFactor.setup(session.userId)
      return { status: 200, body: { secret, otpauth_url: url, qr_svg: svg } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/user/2fa/enable',
    gate: 'requireUserSession',
    ownFactors: true,
    body: shapes.FactorCodeBody,
    responses: { 200: shapes.FactorEnabledResponse },
    handle: async ({ session, body, ...where }) => {
      const codes = await secondFactor.enable(session, body.code, fromOf(where))
      return { status: 200, body: { enabled: true, backup_codes: codes } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/user/2fa/disable',
    gate: 'requireUserSession',
    ownFactors: true,
    body: shapes.FactorDisableBody,
    responses: { 200: shapes.FactorDisabledResponse },
    handle: async ({ session, body: { code, backup_code: backupCode, password }, ...where }) => {
      await secondFactor.disable(session, { code, backupCode, password }, fromOf(where))
      return { status: 200, body: { enabled: false } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/user/2fa/backup-codes',
    gate: 'requireUserSession',
    ownFactors: true,
    body: shapes.FactorCodeBody,
    responses: { 200: shapes.BackupCodesResponse },
    handle: async ({ session, body, ...where }) => {
      const codes = await secondFactor.replaceBackupCodes(session, body.code, fromOf(where))
      return { status: 200, body: { backup_codes: codes } }
    },
  }),
]

const SessionItem = z.strictObject({
  id: z.string(),
  current: z.boolean(),
  method: z.string(),
  ip_address: z.string().nullable(),
  user_agent: z.string(),
  device: z.string(),
  created_at: z.string(),
  last_active_at: z.string(),
  expires_at: z.string(),
})

const shownDevice = (device: Device): z.output<typeof SessionItem> => ({
  id: device.id,
  current: device.current,
  method: device.method,
  ip_address: device.ip_address,
  user_agent: device.user_agent,
  device: device.device,
  created_at: device.created_at.toISOString(),
  last_active_at: device.last_active_at.toISOString(),
  expires_at: device.expires_at.toISOString(),
})

const sessionRoutes = ({ manageSessions }: AccountNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/sessions',
    gate: 'requireUserSession',
    responses: { 200: listOf(SessionItem) },
    handle: async ({ session }) => ({
      status: 200,
      body: wholeList((await manageSessions.list(session)).map(shownDevice)),
    }),
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/sessions',
    gate: 'requireUserSession',
    query: z.object({ id: givenId.min(1) }),
    responses: { 200: z.strictObject({ revoked: z.number() }) },
    handle: async (call) => {
      const revoked = await manageSessions.revoke(call.session, call.query.id, userActor(call))
      return { status: 200, body: { revoked } }
    },
  }),
]

export const accountRoutes = (needs: AccountNeeds): DashboardRoute[] => [
  ...profileRoutes(needs),
  ...factorRoutes(needs),
  ...sessionRoutes(needs),
]
