/** Requests and responses of the team, of orgs and of accounts. */
import { z } from 'zod'
import { roles } from '../../customers/accounts/sessions.ts'
import { plans } from '../../customers/orgs/plans.ts'
import { givenId, patternText } from '../../platform/ground/bounded-text.ts'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import { eachRefused, refusing } from '../../platform/ground/refused-fields.ts'

const instant = z.string()

/** The longest address that an account can have. */
const maxEmail = 320

const invitedAddress = z
  .string()
  .max(maxEmail)
  .transform((text, context): string => {
    const address = comparableAddress(text)
    // A display name is no part of an account.
    if (address !== undefined && !text.includes('<')) return address
    context.addIssue({ code: 'invalid_format', format: 'email', message: 'Enter a valid email address.' })
    return z.NEVER
  })

const role = z.enum(roles, 'Must be owner, developer, member or viewer.')

/** The token of an invitation is 43 characters long. Longer texts are bounded and then not found. */
export const givenToken = z.string().max(200)

const orgName = patternText(/\S/, 80, 'Enter a name.')
  .max(80, 'Must be at most 80 characters.')
  .transform((text) => text.trim())

/** A part of a host name. */
const orgSlug = patternText(
  /^(?=.{1,48}$)[a-z0-9]+(-[a-z0-9]+)*$/,
  48,
  'Must be 1 to 48 lower-case letters and digits, with single dashes between them.',
)

export const CreateOwnOrg = refusing(z.object({ name: orgName, slug: orgSlug.optional() }), {
  sms_quiet_hours: 'A new org has quiet hours. Change it with PATCH.',
})
export type CreateOwnOrg = z.output<typeof CreateOwnOrg>
export const PatchOwnOrg = z.object({ name: orgName.optional(), sms_quiet_hours: z.boolean().optional() })
export const DeleteOwnOrg = z.object({ confirm: z.string().max(200) })
export const SwitchOrg = z.object({ org_id: givenId })
export const TransferTo = z.object({ user_id: givenId })
export const InviteMember = z.object({ email: invitedAddress, role, sso_exempt: z.boolean().default(false) })
export const ById = z.object({ id: givenId })
export const RepeatInvitation = refusing(
  z.object({ id: givenId }),
  eachRefused(
    ['email', 'role', 'sso_exempt'],
    'This request only sends the invitation again. Withdraw it and invite anew.',
  ),
)
export const ChangeMember = z
  .object({ id: givenId, role: role.optional(), sso_exempt: z.boolean().optional() })
  .refine(({ role: given, sso_exempt }) => given !== undefined || sso_exempt !== undefined, {
    path: ['role'],
    message: 'Send role or sso_exempt.',
  })
export const LeftOrg = z.object({ org_id: givenId.optional() })
export const ByToken = z.object({ token: givenToken })
export const DeleteOwnAccount = z
  .object({
    password: z.string().max(1_000).optional(),
    email: z.string().max(maxEmail).optional(),
    delete_owned_orgs: z.boolean().default(false),
  })
  .refine(({ password, email }) => password !== undefined || email !== undefined, {
    path: ['password'],
    message: 'Confirm with your password or your email address.',
  })

export const OwnOrg = z.strictObject({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  plan: z.enum(plans),
  owner_user_id: z.string().nullable(),
  role: z.string(),
  sandbox_domain: z.string(),
  sms_quiet_hours: z.boolean(),
  suspended: z.boolean(),
  created_at: instant,
})

const MemberOrg = z.strictObject({ id: z.string(), name: z.string(), slug: z.string(), role: z.string() })

export const ListedOrg = MemberOrg.extend({ active: z.boolean(), default: z.boolean(), created_at: instant })

export const SwitchedOrg = z.strictObject({ active_org: MemberOrg })

export const DeletedOrg = z.strictObject({
  deleted: z.literal(true),
  id: z.string(),
  next_org_id: z.string().nullable(),
  redirect_to: z.string(),
})

export const Member = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.string(),
  primary_owner: z.boolean(),
  two_factor_enabled: z.boolean(),
  source: z.string(),
  sso_exempt: z.boolean(),
  sso_access: z.enum(['any', 'provider', 'none']),
  created_at: instant,
  last_active_at: instant.nullable(),
})

export const Invitation = z.strictObject({
  id: z.string(),
  email: z.string(),
  role: z.string(),
  sso_exempt: z.boolean(),
  status: z.enum(['pending', 'expired']),
  invited_by: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  created_at: instant,
  expires_at: instant,
})

export const ReceivedInvitation = z.strictObject({
  org_name: z.string(),
  email: z.string(),
  role: z.string(),
  invited_by: z.string().nullable(),
  expires_at: instant,
  account_exists: z.boolean(),
})

export const JoinedOrg = z.strictObject({ org_id: z.string(), org_name: z.string(), role: z.string() })
export const LeftTeam = z.strictObject({ deleted: z.literal(true) })
export const DeletedRow = z.strictObject({ deleted: z.literal(true), id: z.string() })
export const DeclinedInvitation = z.strictObject({ declined: z.literal(true), id: z.string() })

export const DeletedAccount = z.strictObject({
  deleted: z.literal(true),
  transferred: z.array(z.strictObject({ org_id: z.string(), to_user_id: z.string(), promoted_to_owner: z.boolean() })),
  deleted_orgs: z.array(z.string()),
})

export const SmsCountries = z.strictObject({
  countries: z.array(z.string()).nullable(),
  configured: z.boolean(),
  updated_at: instant.nullable(),
  updated_by: z.string().nullable(),
})

/** More than there are countries. */
export const PatchSmsGeo = z.object({ countries: z.array(z.string().max(20)).max(300).nullable().optional() })
