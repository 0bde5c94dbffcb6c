/** The requests and responses of accounts and sign-in. */
import { z } from 'zod'
import { givenId, patternText } from '../../platform/ground/bounded-text.ts'
import { comparable, parseMailbox } from '../../platform/ground/mailbox.ts'
import { maxPasswordLength, minPasswordLength } from './password-rule.ts'

/** Trimmed and in lower case, so that one address has one account. */
export const emailAddress = z
  .string()
  .max(400)
  .transform((text, context): string => {
    const parsed = parseMailbox(text)
    if (parsed && parsed.name === null && !text.includes('<')) return comparable(parsed.address)
    context.addIssue({ code: 'custom', params: { code: 'invalid_email' }, message: 'Enter a valid email address' })
    return z.NEVER
  })

/** A password that someone chooses. */
export const chosenPassword = z
  .string()
  .min(minPasswordLength, `Use at least ${minPasswordLength} characters.`)
  .max(maxPasswordLength, `Use at most ${maxPasswordLength} characters.`)

/** A password that someone types to prove who they are. It may be any text. */
export const typedPassword = z.string().min(1).max(1_000)

/** Codes are typed by people, so spaces do not matter. A text that is not a code is refused like a wrong code. */
export const typedCode = z
  .string()
  .min(1)
  .max(32)
  .transform((text) => text.replace(/\s/g, ''))

export const phoneNumber = patternText(/^\+[1-9]\d{1,14}$/, 16, 'Enter a number in E.164 form, such as +14155550123.')

const controlCharacter = /\p{Cc}/u
export const displayName = z
  .string()
  .trim()
  .min(1, 'Enter a name.')
  .max(80, 'Use at most 80 characters.')
  .refine((text) => !controlCharacter.test(text), 'Remove control characters.')

/** A path on this site. Anything else becomes `/`, so that a link cannot lead people elsewhere after sign-in. */
export const redirectPath = z
  .string()
  .max(10_000)
  .transform((text) => (text.length <= 2_000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text) ? text : '/'))
  .nullish()
  .transform((path) => path ?? '/')

export const RegisterBody = z.object({
  email: emailAddress,
  password: chosenPassword,
  name: displayName,
  org_name: displayName.nullish(),
  invite_token: z.string().min(1).max(200).nullish(),
})
export const RegisterResponse = z.strictObject({ status: z.literal('verification_sent'), email: z.string() })

export const VerifyEmailBody = z.object({ email: emailAddress, code: typedCode })

const User = z.strictObject({ id: z.string(), email: z.string(), name: z.string() })

export const SignedInResponse = z.strictObject({
  status: z.literal('signed_in'),
  user: User,
  active_org_id: z.string().nullable(),
  redirect_to: z.string(),
  backup_codes_left: z.number().optional(),
})
export const VerifiedResponse = z.strictObject({ status: z.literal('verified'), redirect_to: z.literal('/login') })

export const VerifyPhoneBody = z.object({ phone: phoneNumber, code: typedCode.optional() })
export const PhoneCodeSent = z.strictObject({ status: z.literal('code_sent'), expires_at: z.string() })
export const PhoneVerified = z.strictObject({ status: z.literal('verified'), phone: z.string() })

export const ResendBody = z.discriminatedUnion('channel', [
  z.object({ channel: z.literal('email'), email: emailAddress }),
  z.object({ channel: z.literal('phone'), phone: phoneNumber }),
])
export const ResendResponse = z.strictObject({ status: z.literal('verification_sent') })

export const LoginBody = z.object({ email: emailAddress, password: typedPassword, redirect_to: redirectPath })
export const CodeRequiredResponse = z.strictObject({
  status: z.literal('code_required'),
  challenge_id: z.string(),
  sent_to: z.string(),
  expires_at: z.string(),
})

export const LoginCodeBody = z.object({ challenge_id: givenId, code: typedCode })
export const FactorRequiredResponse = z.strictObject({
  status: z.literal('two_factor_required'),
  challenge_id: z.string(),
  methods: z.array(z.string()),
  expires_at: z.string(),
})
export const LoginResendBody = z.object({ challenge_id: givenId })

const either = (names: string[]) => (body: object) => names.filter((name) => Object.hasOwn(body, name)).length === 1

export const LoginFactorBody = z
  .object({ challenge_id: givenId, code: typedCode.optional(), backup_code: typedCode.optional() })
  .refine(either(['code', 'backup_code']), 'Send either code or backup_code.')

/** One route takes every step, so the fields say which one it is. */
export const StepUpBody = z
  .object({
    email: emailAddress.optional(),
    password: typedPassword.optional(),
    challenge_id: givenId.optional(),
    code: typedCode.optional(),
    backup_code: typedCode.optional(),
  })
  .refine(either(['password', 'challenge_id']), 'Send either password or challenge_id.')
  .refine(
    ({ password, code, backup_code }) =>
      password !== undefined
        ? code === undefined && backup_code === undefined
        : code === undefined || backup_code === undefined,
    'Send either code or backup_code, with challenge_id.',
  )
export const SteppedUpResponse = z.strictObject({
  status: z.literal('stepped_up'),
  backup_codes_left: z.number().optional(),
})

export const FirstSignInBody = z.object({ token: z.string().min(1).max(200) })
export const ForgotBody = z.object({ email: emailAddress })
export const ForgotResponse = z.strictObject({ status: z.literal('sent') })
export const ResetBody = z.object({ token: z.string().min(1).max(200), password: chosenPassword })
export const ResetResponse = z.strictObject({ status: z.literal('password_reset'), redirect_to: z.literal('/login') })

export const UnlockBody = z.object({ token: z.string().min(1).max(200) })
export const UnlockResponse = z.strictObject({ status: z.literal('unlocked'), redirect_to: z.literal('/login') })

const Person = User.extend({
  email_verified: z.boolean(),
  phone: z.string().nullable(),
  phone_verified: z.boolean(),
  has_password: z.boolean(),
  two_factor_enabled: z.boolean(),
})

const MemberOrg = z.strictObject({ id: z.string(), name: z.string(), slug: z.string(), role: z.string() })

export const SessionResponse = z.strictObject({
  user: Person.nullable(),
  session: z
    .strictObject({ id: z.string(), method: z.string(), created_at: z.string(), expires_at: z.string() })
    .optional(),
  active_org: MemberOrg.extend({ suspended: z.boolean(), suspension_reason: z.string().nullable() })
    .nullable()
    .optional(),
  /** The active org, if it is closed to this session, and why. `active_org` is then null. */
  closed_org: MemberOrg.extend({
    error: z.string(),
    code: z.enum(['SSO_REQUIRED', 'STEP_UP_REQUIRED']),
    login_url: z.string().optional(),
    exemption_needed: z.literal(true).optional(),
  }).optional(),
  orgs: z.array(MemberOrg).optional(),
})

export const Profile = Person.extend({ default_org_id: z.string().nullable(), created_at: z.string() })
export const ProfileBody = z.object({ name: displayName.optional(), default_org_id: givenId.optional() })
export const PasswordBody = z.object({ current_password: typedPassword, new_password: chosenPassword })
export const PasswordResponse = z.strictObject({ status: z.literal('password_changed') })

export const FactorStatusResponse = z.strictObject({
  enabled: z.boolean(),
  enabled_at: z.string().nullable(),
  backup_codes_left: z.number(),
})
export const FactorSetupResponse = z.strictObject({ secret: z.string(), otpauth_url: z.string(), qr_svg: z.string() })
export const FactorCodeBody = z.object({ code: typedCode })
export const FactorEnabledResponse = z.strictObject({ enabled: z.literal(true), backup_codes: z.array(z.string()) })
export const FactorDisableBody = z
  .object({ code: typedCode.optional(), backup_code: typedCode.optional(), password: typedPassword.optional() })
  .refine(either(['code', 'backup_code', 'password']), 'Send one of code, backup_code and password.')
export const FactorDisabledResponse = z.strictObject({ enabled: z.literal(false) })
export const BackupCodesResponse = z.strictObject({ backup_codes: z.array(z.string()) })
