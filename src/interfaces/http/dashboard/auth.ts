/** Registration and sign-in with a password: /api/auth. */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Sessions } from '../../../customers/accounts/sessions.ts'
import type { ChangePassword } from '../../../people/signin/change-password.ts'
import type { From, SignedIn } from '../../../people/signin/complete-sign-in.ts'
import type { FirstSignIn } from '../../../people/signin/first-sign-in.ts'
import { deviceSeconds } from '../../../people/signin/known-devices.ts'
import type { LogIn } from '../../../people/signin/log-in.ts'
import type { CodeRequired, FactorRequired } from '../../../people/signin/login-challenges.ts'
import * as shapes from '../../../people/signin/shapes.ts'
import { pendingSeconds, type Register } from '../../../people/signin/sign-up.ts'
import type { StepUp } from '../../../people/signin/step-up.ts'
import type { UnlockSignIn } from '../../../people/signin/unlock-sign-in.ts'
import type { VerifyPhone } from '../../../people/signin/verify-phone.ts'
import { activeOrgCookie, type Cookies, cookieOf, deviceCookie, pendingCookie, sessionCookie } from '../cookies.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute, type RouteResponse } from '../route.ts'

type AuthNeeds = {
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

type Where = { address: string | null; userAgent: string; headers: IncomingHttpHeaders }

export const fromOf = ({ address, userAgent, headers }: Where): From => ({
  ip: address,
  userAgent,
  device: cookieOf(headers.cookie, deviceCookie),
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

const signedIn = (cookies: Cookies, done: Completed, also: string[] = []): RouteResponse => ({
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
  defineRoute('POST', '/api/auth/register', bySession('public'), {
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
  defineRoute('POST', '/api/auth/verify-email', bySession('public'), {
    body: shapes.VerifyEmailBody,
    responses: { 200: z.union([shapes.SignedInResponse, shapes.VerifiedResponse]) },
    handle: async (call) => {
      const given = {
        ...call.body,
        pending: cookieOf(call.headers.cookie, pendingCookie),
        activeOrg: cookieOf(call.headers.cookie, activeOrgCookie),
      }
      const done = await register.verifyEmail(given, fromOf(call))
      const forget = cookies.clear(pendingCookie)
      if (done) return signedIn(cookies, { ...done, redirectTo: '/' }, [forget])
      return { status: 200, body: { status: 'verified', redirect_to: '/login' }, cookies: [forget] }
    },
  }),
  defineRoute('POST', '/api/auth/verify-phone', bySession('requireUserSession', { ownFactors: true }), {
    body: shapes.VerifyPhoneBody,
    responses: { 200: shapes.PhoneVerified, 202: shapes.PhoneCodeSent },
    handle: async ({ session, body: { phone, code }, ...where }) => {
      if (code === undefined) {
        const expiresAt = await verifyPhone.start(session.userId, phone)
        return { status: 202, body: { status: 'code_sent', expires_at: expiresAt.toISOString() } }
      }
      await verifyPhone.check(session, phone, code, fromOf(where))
      return ok({ status: 'verified', phone })
    },
  }),
  defineRoute('POST', '/api/auth/resend-verification', bySession('public'), {
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
  defineRoute('POST', '/api/auth/login', bySession('public'), {
    body: shapes.LoginBody,
    responses: { 200: shapes.CodeRequiredResponse },
    handle: async (call) => {
      const { email, password, redirect_to: redirectTo } = call.body
      const required = await logIn.start({ email, password, redirectTo }, fromOf(call))
      return ok(codeRequired(required))
    },
  }),
  defineRoute('POST', '/api/auth/login/code', bySession('public'), {
    body: shapes.LoginCodeBody,
    responses: { 200: z.union([shapes.SignedInResponse, shapes.FactorRequiredResponse]) },
    handle: async (call) => {
      const { challenge_id: challengeId, code } = call.body
      const given = { challengeId, code, activeOrg: cookieOf(call.headers.cookie, activeOrgCookie) }
      const done = await logIn.code(given, fromOf(call))
      return 'session' in done ? signedIn(cookies, done) : { status: 200, body: factorRequired(done) }
    },
  }),
  defineRoute('POST', '/api/auth/login/2fa', bySession('public'), {
    body: shapes.LoginFactorBody,
    responses: { 200: shapes.SignedInResponse },
    handle: async (call) => {
      const { challenge_id: challengeId, code, backup_code: backupCode } = call.body
      const given = {
        challengeId,
        proof: { code, backupCode },
        activeOrg: cookieOf(call.headers.cookie, activeOrgCookie),
      }
      return signedIn(cookies, await logIn.secondFactor(given, fromOf(call)))
    },
  }),
  defineRoute('POST', '/api/auth/login/resend', bySession('public'), {
    body: shapes.LoginResendBody,
    responses: { 202: shapes.CodeRequiredResponse },
    handle: async ({ body }) => ({ status: 202, body: codeRequired(await logIn.resend(body.challenge_id)) }),
  }),
  defineRoute('POST', '/api/auth/logout', bySession('public'), {
    responses: { 204: null },
    handle: async ({ headers }) => {
      const token = cookieOf(headers.cookie, sessionCookie)
      if (token !== undefined) await sessions.end(token)
      return { status: 204, cookies: [cookies.clear(sessionCookie), cookies.clear(activeOrgCookie)] }
    },
  }),
]

const stepUpRoutes = ({ cookies, stepUp }: AuthNeeds): DashboardRoute[] => [
  defineRoute('POST', '/api/auth/step-up', bySession('requireUserSession'), {
    body: shapes.StepUpBody,
    responses: {
      200: z.union([shapes.CodeRequiredResponse, shapes.FactorRequiredResponse, shapes.SteppedUpResponse]),
      202: shapes.CodeRequiredResponse,
    },
    handle: async ({ session, body, ...where }) => {
      const { email, password, challenge_id: challengeId = '', code, backup_code: backupCode } = body
      const from = fromOf(where)
      if (password !== undefined) {
        return ok(codeRequired(await stepUp.start(session, { email, password }, from)))
      }
      if (code === undefined && backupCode === undefined) {
        return { status: 202, body: codeRequired(await stepUp.resend(session, challengeId)) }
      }
      const done = await stepUp.prove(session, { challengeId, proof: { code, backupCode } }, from)
      if (!('session' in done)) return ok(factorRequired(done))
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
  defineRoute('POST', '/api/auth/first-sign-in', bySession('public'), {
    body: shapes.FirstSignInBody,
    responses: { 200: shapes.SignedInResponse },
    handle: async (call) => {
      const details = {
        method: 'first_link',
        from: fromOf(call),
        activeOrg: cookieOf(call.headers.cookie, activeOrgCookie),
      }
      return signedIn(cookies, { ...(await firstSignIn.enter(call.body.token, details)), redirectTo: '/' })
    },
  }),
]

const passwordRoutes = ({ cookies, changePassword, unlock }: AuthNeeds): DashboardRoute[] => [
  defineRoute('POST', '/api/auth/forgot-password', bySession('public'), {
    body: shapes.ForgotBody,
    responses: { 202: shapes.ForgotResponse },
    handle: async ({ body }) => {
      changePassword.forgot(body.email)
      return { status: 202, body: { status: 'sent' } }
    },
  }),
  defineRoute('POST', '/api/auth/reset-password', bySession('public'), {
    body: shapes.ResetBody,
    responses: { 200: shapes.ResetResponse },
    handle: async (call) => {
      const device = await changePassword.reset(call.body, fromOf(call))
      const body = { status: 'password_reset', redirect_to: '/login' }
      return { status: 200, body, cookies: [rememberDevice(cookies, device)] }
    },
  }),
  defineRoute('POST', '/api/auth/unlock', bySession('public'), {
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
