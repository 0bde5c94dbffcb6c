/** Verifies the phone number of a signed-in user with a code in a text message. */
import type { RecordPersonal } from '../../customers/accounts/personal-audit.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { sameBytes } from '../../platform/ground/crypto.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { callingCodeOf, isHighCost } from '../../platform/ground/phone-number.ts'
import { HandoverFault } from '../../providers/handover.ts'
import type { SmsProvider } from '../../providers/sms/sms-provider.ts'
import type { Background } from './background.ts'
import { actorFrom, type From } from './complete-sign-in.ts'
import { phoneCodeText } from './mail-templates.ts'
import type { Owner } from './second-factor.ts'
import { type Codes, maxTries } from './sign-in-code.ts'
import { findPhoneCode, putCode, tryCode, useCode } from './store/code-rows.ts'
import { markPhoneVerified } from './store/user-rows.ts'
import { bucketOf, type Throttle, tooManyAttempts, tooManyRequests } from './throttle.ts'

const codeMinutes = 10

type Needs = StoreNeeds & {
  log: Log
  codes: Codes
  throttle: Throttle
  background: Background
  recordPersonal: RecordPersonal
  provider: Pick<SmsProvider, 'send'>
  /** The sender of the service's own texts. Undefined: none are sent. */
  sender: string | undefined
}

const purposeOf = (userId: string, phone: string): string => `phone ${userId} ${phone}`

export const makeVerifyPhone = (needs: Needs) => {
  const { db, clock, log, codes, throttle, background, recordPersonal, provider, sender } = needs

  const text = async (to: string, body: string): Promise<void> => {
    if (sender === undefined) throw new Failure('TEXT_UNAVAILABLE', { retryAfter: 60 })
    try {
      await provider.send({
        orgId: 'service',
        messageId: newId('message', clock.millis()),
        from: sender,
        to,
        body,
        mediaUrl: [],
        dlt: null,
        messageType: 'transactional',
        at: clock.now(),
      })
    } catch (error) {
      if (!(error instanceof HandoverFault)) throw error
      log.warn({ kind: error.kind, provider: error.provider, reason: error.message }, 'sign-in text failed')
      throw new Failure('TEXT_UNAVAILABLE', { cause: error, retryAfter: 60 })
    }
  }

  const sendCode = async (userId: string, phone: string): Promise<Date> => {
    const code = codes.make()
    await text(phone, phoneCodeText(code))
    const at = clock.now()
    const expiresAt = new Date(at.getTime() + codeMinutes * 60_000)
    await db.change(putCode, {
      userId,
      channel: 'phone',
      destination: phone,
      codeHash: codes.hash(code, purposeOf(userId, phone)),
      browserHash: null,
      at,
      expiresAt,
    })
    return expiresAt
  }

  return {
    /** Texts a code and returns when it expires. */
    start: async (userId: string, phone: string) => {
      if (isHighCost(phone)) throw new Failure('HIGH_COST_DESTINATION')
      if (!callingCodeOf(phone)) throw invalid(['phone'], 'custom', 'No country has this calling code.')
      await throttle.require(tooManyAttempts, bucketOf('phone-user', userId, 5), bucketOf('phone', phone, 5))
      return sendCode(userId, phone)
    },
    check: async ({ userId, orgId }: Owner, phone: string, code: string, from: From) => {
      return throttle.attempt({ email: userId, ip: from.ip }, async (failed) => {
        const sent = { userId, channel: 'phone', destination: phone } as const
        const tried = await db.row(tryCode, { ...sent, now: clock.now(), maxTries })
        if (!tried || !sameBytes(tried.code_hash, codes.hash(code, purposeOf(userId, phone)))) {
          await failed()
          throw new Failure('INVALID_CODE')
        }
        await db.tx(async (tx) => {
          const used = await tx.row(useCode, { userId, channel: 'phone', codeHash: tried.code_hash })
          if (!used) throw new Failure('INVALID_CODE')
          await tx.change(markPhoneVerified, { userId, phone, at: clock.now() })
          await recordPersonal(tx, orgId, { userId, actor: actorFrom(userId, from), action: 'user.phone_verified' })
        })
      })
    },
    /** Texts a new code to the user who is verifying this number, after the response. */
    resend: async (phone: string) => {
      await throttle.require(tooManyRequests, bucketOf('resend-phone', phone, 3))
      background.run('verification resend', async () => {
        const pending = await db.row(findPhoneCode, { phone })
        if (pending) await sendCode(pending.user_id, phone)
      })
    },
  }
}

export type VerifyPhone = ReturnType<typeof makeVerifyPhone>
