/** The authorization server for clients of the tool protocol. */
import { makeAuthorize } from '../oauth/authorize.ts'
import { makeConsent } from '../oauth/consent.ts'
import { makeEndGrants } from '../oauth/end-grants.ts'
import { makeIssueTokens } from '../oauth/issue-tokens.ts'
import { makeRegisterClient } from '../oauth/register-client.ts'
import { makeSweepOAuth } from '../oauth/retention.ts'
import type { Foundation } from './foundation.ts'

export const makeOAuth = ({ config, db, clock, audit, limiter, baseUrl }: Foundation) => {
  const authorize = makeAuthorize({ db, clock, baseUrl: baseUrl.read })
  return {
    authorize,
    register: makeRegisterClient({ db, clock, limiter }),
    issue: makeIssueTokens({ db, clock, audit, maxDays: config.oauthGrantMaxDays }),
    endGrants: makeEndGrants({ db, clock, audit }),
    consent: makeConsent({ db, clock, audit, baseUrl: baseUrl.read, refusal: authorize.refusal }),
    sweep: makeSweepOAuth({ db, clock }),
  }
}

export type OAuth = ReturnType<typeof makeOAuth>
