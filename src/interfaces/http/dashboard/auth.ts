/** Registration and sign-in with a password: /api/auth. */
import { z } from 'zod'
import type { Sessions } from '../../accounts/sessions.ts'
import type { ChangePassword } from '../../signin/change-password.ts'
import type { From, SignedIn } from '../../signin/complete-sign-in.ts'
import type { FirstSignIn } from '../../signin/first-sign-in.ts'
import { deviceSeconds } from '../../signin/known-devices.ts'
import type { LogIn } from '../../signin/log-in.ts'
import type { CodeRequired, FactorRequired } from '../../signin/login-challenges.ts'
import * as shapes from '../../signin/shapes.ts'
import { pendingSeconds, type Register } from '../../signin/sign-up.ts'
import type { StepUp } from '../../signin/step-up.ts'
import type { UnlockSignIn } from '../../signin/unlock-sign-in.ts'
import type { VerifyPhone } from '../../signin/verify-phone.ts'
import { activeOrgCookie, type Cookies, deviceCookie, pendingCookie, sessionCookie } from './cookies.ts'
import { type DashboardResponse, type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'

export type AuthNeeds = {
  cookies: Cookies
  sessions: Pick<Sessions, 'end'>
  register: Register
  verifyPhone: VerifyPhone
  logIn: LogIn
  stepUp: StepUp
  firstSignIn: FirstSignIn
  changePassword: ChangePassword
  unlock: UnlockSignIn
}

type Where = { address: string | null; userAgent: string; cookie: (name: string) => string | undefined }

export const fromOf = ({ address, userAgent, cookie }: Where): From => ({
  ip: address,
  userAgent,
  device: cookie(deviceCookie),
})

const rememberDevice = (cookies: Cookies, device: string): string => cookies.set(deviceCookie, device, deviceSeconds)

/** The cookies of a new session. An active org that the user does not belong to is forgotten. */
export const signedInCookies = (cookies: Cookies, { session, foreignOrg, device }: SignedIn): string[] => [
  cookies.set(sessionCookie, session.token, session.maxAgeSeconds),
  ...(device === undefined ? [] : [rememberDevice(cookies, device)]),
  ...(foreignOrg ? [cookies.clear(activeOrgCookie)] : []),
]

/** Shows whose inbox to look in, and no more: `a••@example.com`. */
const masked = (email: string): string => `${[...email][0]}••${email.slice(email.lastIndexOf('@'))}`

const codeRequired = ({ challengeId, email, expiresAt }: CodeRequired) => ({
  status: 'code_required',
  challenge_id: challengeId,
  sent_to: masked(email),
  expires_at: expiresAt.toISOString(),
})

const factorRequired = ({ challengeId, expiresAt }: FactorRequired) => ({
  status: 'two_factor_required',
  challenge_id: challengeId,
  methods: ['totp', 'backup_code'],
  expires_at: expiresAt.toISOString(),
})

type Completed = SignedIn & { redirectTo: string; backupCodesLeft?: number }

const signedIn = (cookies: Cookies, done: Completed, also: string[] = []): DashboardResponse => ({
  status: 200,
  body: {
    status: 'signed_in',
    user: done.user,
    active_org_id: done.activeOrgId,
    redirect_to: done.redirectTo,
    backup_codes_left: done.backupCodesLeft,
  },
  cookies: [...signedInCookies(cookies, done), ...also],
})

const registrationRoutes = ({ cookies, register, verifyPhone }: AuthNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/register',
    gate: 'public',
    body: shapes.RegisterBody,
    responses: { 202: shapes.RegisterResponse },
    handle: async (call) => {
      const { email, password, name, org_name: orgName = null, invite_token: inviteToken = null } = call.body
      const pending = await register.register({ email, password, name, orgName, inviteToken }, fromOf(call))
      return {
        status: 202,
        body: { status: 'verification_sent', email },
        cookies: [cookies.set(pendingCookie, pending, pendingSeconds)],
      }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/verify-email',
    gate: 'public',
    body: shapes.VerifyEmailBody,
    responses: { 200: z.union([shapes.SignedInResponse, shapes.VerifiedResponse]) },
    handle: async (call) => {
      const given = { ...call.body, pending: call.cookie(pendingCookie), activeOrg: call.cookie(activeOrgCookie) }
      const done = await register.verifyEmail(given, fromOf(call))
      const forget = cookies.clear(pendingCookie)
      if (done) return signedIn(cookies, { ...done, redirectTo: '/' }, [forget])
      return { status: 200, body: { status: 'verified', redirect_to: '/login' }, cookies: [forget] }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/verify-phone',
    gate: 'requireUserSession',
    ownFactors: true,
    body: shapes.VerifyPhoneBody,
    responses: { 200: shapes.PhoneVerified, 202: shapes.PhoneCodeSent },
    handle: async ({ session, body: { phone, code }, ...where }) => {
      if (code === undefined) {
        const expiresAt = await verifyPhone.start(session.userId, phone)
        return { status: 202, body: { status: 'code_sent', expires_at: expiresAt.toISOString() } }
      }
      await verifyPhone.check(session, phone, code, fromOf(where))
      return { status: 200, body: { status: 'verified', phone } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/resend-verification',
    gate: 'public',
    body: shapes.ResendBody,
    responses: { 202: shapes.ResendResponse },
    handle: async ({ body }) => {
      if (body.channel === 'email') await register.resend(body.email)
      else await verifyPhone.resend(body.phone)
      return { status: 202, body: { status: 'verification_sent' } }
    },
  }),
]

const loginRoutes = ({ cookies, sessions, logIn }: AuthNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/login',
    gate: 'public',
    body: shapes.LoginBody,
    responses: { 200: shapes.CodeRequiredResponse },
    handle: async (call) => {
      const { email, password, redirect_to: redirectTo } = call.body
      const required = await logIn.start({ email, password, redirectTo }, fromOf(call))
      return { status: 200, body: codeRequired(required) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/login/code',
    gate: 'public',
    body: shapes.LoginCodeBody,
    responses: { 200: z.union([shapes.SignedInResponse, shapes.FactorRequiredResponse]) },
    handle: async (call) => {
      const { challenge_id: challengeId, code } = call.body
      const given = { challengeId, code, activeOrg: call.cookie(activeOrgCookie) }
      const done = await logIn.code(given, fromOf(call))
      return 'session' in done ? signedIn(cookies, done) : { status: 200, body: factorRequired(done) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/login/2fa',
    gate: 'public',
    body: shapes.LoginFactorBody,
    responses: { 200: shapes.SignedInResponse },
    handle: async (call) => {
      const { challenge_id: challengeId, code, backup_code: backupCode } = call.body
      const given = { challengeId, proof: { code, backupCode }, activeOrg: call.cookie(activeOrgCookie) }
      return signedIn(cookies, await logIn.secondFactor(given, fromOf(call)))
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/login/resend',
    gate: 'public',
    body: shapes.LoginResendBody,
    responses: { 202: shapes.CodeRequiredResponse },
    handle: async ({ body }) => ({ status: 202, body: codeRequired(await logIn.resend(body.challenge_id)) }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/logout',
    gate: 'public',
    responses: { 204: null },
    handle: async ({ cookie }) => {
      const token = cookie(sessionCookie)
      if (token !== undefined) await sessions.end(token)
      return { status: 204, cookies: [cookies.clear(sessionCookie), cookies.clear(activeOrgCookie)] }
    },
  }),
]

const stepUpRoutes = ({ cookies, stepUp }: AuthNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/step-up',
    gate: 'requireUserSession',
    body: shapes.StepUpBody,
    responses: {
      200: z.union([shapes.CodeRequiredResponse, shapes.FactorRequiredResponse, shapes.SteppedUpResponse]),
      202: shapes.CodeRequiredResponse,
    },
    handle: async ({ session, body, ...where }) => {
      const { email, password, challenge_id: challengeId = '', code, backup_code: backupCode } = body
      const from = fromOf(where)
      if (password !== undefined) {
        return { status: 200, body: codeRequired(await stepUp.start(session, { email, password }, from)) }
      }
      if (code === undefined && backupCode === undefined) {
        return { status: 202, body: codeRequired(await stepUp.resend(session, challengeId)) }
      }
      const done = await stepUp.prove(session, { challengeId, proof: { code, backupCode } }, from)
      if (!('session' in done)) return { status: 200, body: factorRequired(done) }
      const { token, maxAgeSeconds } = done.session
      return {
        status: 200,
        body: { status: 'stepped_up', backup_codes_left: done.backupCodesLeft },
        cookies: [cookies.set(sessionCookie, token, maxAgeSeconds)],
      }
    },
  }),
]

const firstSignInRoutes = ({ cookies, firstSignIn }: AuthNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/first-sign-in',
    gate: 'public',
    body: shapes.FirstSignInBody,
    responses: { 200: shapes.SignedInResponse },
    handle: async (call) => {
      const details = { method: 'first_link', from: fromOf(call), activeOrg: call.cookie(activeOrgCookie) }
      return signedIn(cookies, { ...(await firstSignIn.enter(call.body.token, details)), redirectTo: '/' })
    },
  }),
]

const passwordRoutes = ({ cookies, changePassword, unlock }: AuthNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/forgot-password',
    gate: 'public',
    body: shapes.ForgotBody,
    responses: { 202: shapes.ForgotResponse },
    handle: async ({ body }) => {
      changePassword.forgot(body.email)
      return { status: 202, body: { status: 'sent' } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/reset-password',
    gate: 'public',
    body: shapes.ResetBody,
    responses: { 200: shapes.ResetResponse },
    handle: async (call) => {
      const device = await changePassword.reset(call.body, fromOf(call))
      const body = { status: 'password_reset', redirect_to: '/login' }
      return { status: 200, body, cookies: [rememberDevice(cookies, device)] }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/auth/unlock',
    gate: 'public',
    body: shapes.UnlockBody,
    responses: { 200: shapes.UnlockResponse },
    handle: async (call) => {
      const device = await unlock.use(call.body.token, fromOf(call))
      const body = { status: 'unlocked', redirect_to: '/login' }
      return { status: 200, body, cookies: [rememberDevice(cookies, device)] }
    },
  }),
]

export const authRoutes = (needs: AuthNeeds): DashboardRoute[] => [
  ...registrationRoutes(needs),
  ...loginRoutes(needs),
  ...stepUpRoutes(needs),
  ...firstSignInRoutes(needs),
  ...passwordRoutes(needs),
]
