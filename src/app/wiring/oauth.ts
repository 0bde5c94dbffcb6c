/** The authorization server for clients of the tool protocol. */
import { makeAuthorize } from '../../people/oauth/authorize.ts'
import { makeConsent } from '../../people/oauth/consent.ts'
import { makeIssueTokens } from '../../people/oauth/issue-tokens.ts'
import { makeEndGrants, makeListGrants } from '../../people/oauth/manage-grants.ts'
import { makeRegisterClient } from '../../people/oauth/register-client.ts'
import { makeSweepOAuth } from '../../people/oauth/retention.ts'
import type { Foundation } from './foundation.ts'

export const makeOAuth = ({ config, db, clock, audit, limiter, baseUrl }: Foundation) => {
  const authorize = makeAuthorize({ db, clock, baseUrl: baseUrl.read })
  return {
    authorize,
    register: makeRegisterClient({ db, clock, limiter }),
    issue: makeIssueTokens({ db, clock, audit, maxDays: config.oauthGrantMaxDays }),
    grants: makeListGrants({ db, clock }),
    endGrants: makeEndGrants({ db, clock, audit }),
    consent: makeConsent({ db, clock, audit, baseUrl: baseUrl.read, refusal: authorize.refusal }),
    sweep: makeSweepOAuth({ db, clock }),
  }
}

export type OAuth = ReturnType<typeof makeOAuth>
