/** A signed-in person's own account: profile, password, second factor, sessions, data and deletion. */
import { z } from 'zod'
import type { ManageSessions } from '../../../customers/accounts/manage-sessions.ts'
import type { ChangePassword } from '../../../people/signin/change-password.ts'
import type { Profiles } from '../../../people/signin/profile.ts'
import type { SecondFactor } from '../../../people/signin/second-factor.ts'
import * as shapes from '../../../people/signin/shapes.ts'
import type { AccountRow } from '../../../people/signin/store/user-rows.ts'
import type { DeleteAccount } from '../../../people/team/delete-account.ts'
import { DeletedAccount, DeleteOwnAccount } from '../../../people/team/shapes.ts'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import type { PersonalExport } from '../../../reports/exports/personal-export.ts'
import { userActor } from '../actor.ts'
import { activeOrgCookie, type Cookies, sessionCookie } from '../cookies.ts'
import { downloadHeaders } from '../download-headers.ts'
import { flatFields } from '../envelope.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { shownAs } from '../shown-resource.ts'
import { fromOf } from './auth.ts'
import { listOf } from './list-query.ts'

type AccountNeeds = {
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

const profileRoutes = ({ profiles, changePassword }: AccountNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/auth/session', bySession('public'), {
    responses: { 200: shapes.SessionResponse },
    handle: async ({ findSession }) => {
      const session = await findSession()
      if (!session) return ok({ user: null })
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
      return ok(body)
    },
  }),
  defineRoute('GET', '/api/internal/user', bySession('requireUserSession'), {
    responses: { 200: shapes.Profile },
    handle: async ({ session }) => ok(shownProfile(await profiles.read(session.userId))),
  }),
  defineRoute('PATCH', '/api/internal/user', bySession('requireUserSession'), {
    body: shapes.ProfileBody,
    responses: { 200: shapes.Profile },
    handle: async ({ session, body: { name, default_org_id: defaultOrgId } }) => {
      const change = { ...(name !== undefined && { name }), ...(defaultOrgId !== undefined && { defaultOrgId }) }
      return ok(shownProfile(await profiles.change(session, change)))
    },
  }),
  defineRoute('POST', '/api/internal/user/password', bySession('requireUserSession', { ownFactors: true }), {
    body: shapes.PasswordBody,
    responses: { 200: shapes.PasswordResponse },
    handle: async ({ session, body, ...where }) => {
      const given = { current: body.current_password, next: body.new_password }
      await changePassword.change(session, given, fromOf(where))
      return ok({ status: 'password_changed' })
    },
  }),
]

const factorRoutes = ({ secondFactor }: AccountNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/user/2fa', bySession('requireUserSession'), {
    responses: { 200: shapes.FactorStatusResponse },
    handle: async ({ session }) => {
      const { enabledAt, backupCodesLeft } = await secondFactor.status(session.userId)
      const enabled_at = isoOrNull(enabledAt)
      return ok({ enabled: enabledAt !== null, enabled_at, backup_codes_left: backupCodesLeft })
    },
  }),
  defineRoute('POST', '/api/internal/user/2fa/setup', bySession('requireUserSession', { ownFactors: true }), {
    responses: { 200: shapes.FactorSetupResponse },
    handle: async ({ session }) => {
      const { secret, url, svg } = await secondFactor.setup(session.userId)
      return ok({ secret, otpauth_url: url, qr_svg: svg })
    },
  }),
  defineRoute('POST', '/api/internal/user/2fa/enable', bySession('requireUserSession', { ownFactors: true }), {
    body: shapes.FactorCodeBody,
    responses: { 200: shapes.FactorEnabledResponse },
    handle: async ({ session, body, ...where }) => {
      const codes = await secondFactor.enable(session, body.code, fromOf(where))
      return ok({ enabled: true, backup_codes: codes })
    },
  }),
  defineRoute('POST', '/api/internal/user/2fa/disable', bySession('requireUserSession', { ownFactors: true }), {
    body: shapes.FactorDisableBody,
    responses: { 200: shapes.FactorDisabledResponse },
    handle: async ({ session, body: { code, backup_code: backupCode, password }, ...where }) => {
      await secondFactor.disable(session, { code, backupCode, password }, fromOf(where))
      return ok({ enabled: false })
    },
  }),
  defineRoute('POST', '/api/internal/user/2fa/backup-codes', bySession('requireUserSession', { ownFactors: true }), {
    body: shapes.FactorCodeBody,
    responses: { 200: shapes.BackupCodesResponse },
    handle: async ({ session, body, ...where }) => {
      const codes = await secondFactor.replaceBackupCodes(session, body.code, fromOf(where))
      return ok({ backup_codes: codes })
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

const shownDevice = shownAs(SessionItem)

const sessionRoutes = ({ manageSessions }: AccountNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/sessions', bySession('requireUserSession'), {
    responses: { 200: listOf(SessionItem) },
    handle: async ({ session }) => {
      const data = (await manageSessions.list(session)).map(shownDevice)
      return ok({ data, has_more: false, next_cursor: null })
    },
  }),
  defineRoute('DELETE', '/api/internal/sessions', bySession('requireUserSession'), {
    query: z.object({ id: givenId.min(1) }),
    responses: { 200: z.strictObject({ revoked: z.number() }) },
    handle: async (call) => {
      const revoked = await manageSessions.revoke(call.session, call.query.id, userActor(call))
      return ok({ revoked })
    },
  }),
]

export const accountRoutes = (needs: AccountNeeds): DashboardRoute[] => [
  ...profileRoutes(needs),
  ...factorRoutes(needs),
  ...sessionRoutes(needs),
]

type DeletionNeeds = { deleteAccount: DeleteAccount; cookies: Cookies }

export const accountDeletionRoutes = ({ deleteAccount, cookies }: DeletionNeeds): DashboardRoute[] => [
  defineRoute('DELETE', '/api/internal/user', bySession('requireUserSession', { ownFactors: true }), {
    body: DeleteOwnAccount,
    responses: { 200: DeletedAccount },
    handle: async (call) => {
      const { password, email, delete_owned_orgs: deleteOwned } = call.body
      const { orgId: activeOrgId } = call.session
      const left = await deleteAccount(userActor(call), { password, email }, { activeOrgId, deleteOwned })
      const cleared = [cookies.clear(sessionCookie), cookies.clear(activeOrgCookie)]
      return { status: 200, body: { deleted: true, ...left }, cookies: cleared }
    },
  }),
]

export const dataExportRoutes = ({ exportOwnData }: { exportOwnData: PersonalExport }): DashboardRoute[] => [
  defineRoute('POST', '/api/internal/user/data-export', bySession('requireUserSession', { ownFactors: true }), {
    responses: { 200: 'file' },
    handle: async (call) => {
      const contentType = 'application/json'
      const content = await exportOwnData(userActor(call), call.session.orgId)
      const headers = downloadHeaders({ filename: 'data-export.json', type: contentType })
      return { status: 200, headers, file: { contentType, content } }
    },
  }),
]
