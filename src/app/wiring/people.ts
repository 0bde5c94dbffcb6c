/** People: accounts, sign-in and sessions. */
import { makeManageSessions } from '../../customers/accounts/manage-sessions.ts'
import { makePasswords } from '../../customers/accounts/passwords.ts'
import { makeRecordPersonal } from '../../customers/accounts/personal-audit.ts'
import { makeSessionPolicies } from '../../customers/accounts/session-policy.ts'
import { makeBackground } from '../../people/signin/background.ts'
import { makeChangePassword } from '../../people/signin/change-password.ts'
import { makeCompleteSignIn } from '../../people/signin/complete-sign-in.ts'
import { type JoinInvited, makeConfirmEmail, makeTakeOverAccount } from '../../people/signin/confirm-email.ts'
import { makeRecordFailedLogin } from '../../people/signin/failed-logins.ts'
import { makeFirstSignIn } from '../../people/signin/first-sign-in.ts'
import { makeHandOverMail } from '../../people/signin/hand-over-mail.ts'
import { makeKnownDevices } from '../../people/signin/known-devices.ts'
import { makeLogIn } from '../../people/signin/log-in.ts'
import { makeLoginChallenges } from '../../people/signin/login-challenges.ts'
import { makeProfiles } from '../../people/signin/profile.ts'
import { makeProvePassword } from '../../people/signin/prove-password.ts'
import { makeProviderSignIn } from '../../people/signin/provider-sign-in.ts'
import { makeGitHub } from '../../people/signin/providers/github.ts'
import { makeOpenIdConnect } from '../../people/signin/providers/open-id-connect.ts'
import type { SignInProvider } from '../../people/signin/providers/sign-in-provider.ts'
import { makeSecondFactor } from '../../people/signin/second-factor.ts'
import { makeCodes } from '../../people/signin/sign-in-code.ts'
import { makeRegister } from '../../people/signin/sign-up.ts'
import { makeStepUp } from '../../people/signin/step-up.ts'
import { makeThrottle } from '../../people/signin/throttle.ts'
import { makeUnlockSignIn } from '../../people/signin/unlock-sign-in.ts'
import { makeVerifyPhone } from '../../people/signin/verify-phone.ts'
import { makeJoinByInvitation } from '../../people/team/answer-invitation.ts'
import type { SignInConfig } from '../../platform/ground/config/config.ts'
import { makeSendServiceMail } from '../../providers/email/service-mail.ts'
import type { Foundation } from './foundation.ts'
import type { OAuth } from './oauth.ts'
import type { Platform } from './platform.ts'
import type { Replacements } from './replacements.ts'
import type { Sending } from './sending.ts'

/** What every part of sign-in uses. */
const makeBasis = (foundation: Foundation, sending: Sending, { hashPassword }: Replacements) => {
  const { config, db, clock, log, limiter, audit, baseUrl } = foundation
  const send = makeSendServiceMail({ clock, provider: sending.emailProvider, serviceDomain: config.serviceDomain })
  const codes = makeCodes(config.masterKey, config.masterKeyPrevious)
  const passwords = makePasswords({ hash: hashPassword })
  const throttle = makeThrottle({ db, clock, limiter })
  const background = makeBackground({ log })
  const mail = makeHandOverMail({ send, log })
  const devices = makeKnownDevices({ clock, codes })
  const unlock = makeUnlockSignIn({ db, clock, mail, background, devices, baseUrl: baseUrl.read })
  return {
    db,
    clock,
    log,
    baseUrl: baseUrl.read,
    codes,
    passwords,
    throttle,
    background,
    mail,
    devices,
    unlock,
    provePassword: makeProvePassword({ db, clock, passwords, throttle, devices, unlock }),
    recordPersonal: makeRecordPersonal({ audit, log }),
  }
}

const makeProviders = ({ google, github, oidc }: SignInConfig): SignInProvider[] => [
  ...(google ? [makeOpenIdConnect({ ...google, id: 'google', name: 'Google' })] : []),
  ...(github ? [makeGitHub(github)] : []),
  ...(oidc ? [makeOpenIdConnect({ ...oidc, id: 'oidc' })] : []),
]

type Needs = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  oauth: OAuth
  replacements: Replacements
}

export const makePeople = ({ foundation, platform, sending, oauth, replacements }: Needs) => {
  const { sessions } = platform
  const { endGrants } = oauth
  const { config, db, clock, audit, vault } = foundation
  const basis = makeBasis(foundation, sending, replacements)
  const { throttle, background, recordPersonal } = basis
  const join = makeJoinByInvitation({ clock, audit })
  const joinInvited: JoinInvited = async (tx, { inviteHash, userId, email, actor }) => {
    const joined = await join(tx, { userId, email }, inviteHash, actor)
    return joined.outcome === 'joined' ? joined.orgId : undefined
  }
  const confirmEmail = makeConfirmEmail({ clock, audit, joinInvited })
  const completeSignIn = makeCompleteSignIn({ sessions, recordPersonal, devices: basis.devices })
  const takeOver = makeTakeOverAccount({ clock, confirmEmail })
  const secondFactor = makeSecondFactor({ ...basis, vault })
  const recordFailedLogin = makeRecordFailedLogin({ db, audit, throttle, background })
  const challenges = makeLoginChallenges({ ...basis, secondFactor, confirmEmail, recordFailedLogin })
  return {
    background,
    throttle,
    provePassword: basis.provePassword,
    unlock: basis.unlock,
    takeOver,
    completeSignIn,
    mail: basis.mail,
    join,
    recordPersonal,
    secondFactor,
    profiles: makeProfiles({ db, clock }),
    policies: makeSessionPolicies({ db, clock, audit }),
    manageSessions: makeManageSessions({
      db,
      clock,
      recordPersonal,
      endPrograms: (tx, actor, person) => endGrants.ofPerson(tx, actor, person, 'signed_out'),
    }),
    register: makeRegister({ ...basis, confirmEmail, completeSignIn }),
    verifyPhone: makeVerifyPhone({ ...basis, provider: sending.smsProvider, sender: config.serviceSmsSender }),
    logIn: makeLogIn({ challenges, completeSignIn }),
    stepUp: makeStepUp({ db, sessions, challenges, recordPersonal }),
    firstSignIn: makeFirstSignIn({ db, clock, completeSignIn, production: config.production }),
    providers: makeProviders(config.signIn),
    providerSignIn: makeProviderSignIn({ db, clock, confirmEmail, takeOver, completeSignIn, challenges }),
    changePassword: makeChangePassword({
      ...basis,
      endPrograms: (tx, actor, person) => endGrants.ofPerson(tx, actor, person, 'password_changed'),
    }),
  }
}

export type People = ReturnType<typeof makePeople>
