/** Single sign-on of orgs: settings, email domains, SAML and OpenID Connect. */
import { makeEmailDomains, makeLookUpTxt } from '../../people/sso/email-domains.ts'
import { makeManageSso } from '../../people/sso/manage-sso.ts'
import { makeOidcSignIn } from '../../people/sso/oidc/oidc-sign-in.ts'
import { makeResponseVerifier } from '../../people/sso/saml/response-verifier.ts'
import { makeSamlKey } from '../../people/sso/saml/service-key.ts'
import { makeSamlSignIn } from '../../people/sso/saml-sign-in.ts'
import { makeFindConnection, makeSignInToOrg } from '../../people/sso/sign-in-to-org.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Sending } from './sending.ts'

export const makeSso = (foundation: Foundation, people: People, { agent }: Sending) => {
  const { config, db, clock, audit, vault, baseUrl } = foundation
  const { throttle, takeOver, completeSignIn } = people
  const lookUpTxt = makeLookUpTxt({ servers: config.dnsServers })
  const domains = makeEmailDomains({ db, clock, audit, lookUpTxt })
  const signInToOrg = makeSignInToOrg({ db, clock, audit, takeOver, completeSignIn })
  const samlKey = makeSamlKey({ db, vault, clock })
  const verifier = makeResponseVerifier()
  return {
    throttle,
    domains,
    connections: makeFindConnection({ db }),
    samlKey,
    manage: makeManageSso({ db, clock, audit, vault, agent, allowInsecure: config.webhookAllowInsecure }),
    saml: makeSamlSignIn({ db, clock, baseUrl: baseUrl.read, key: samlKey, verifier, signInToOrg }),
    oidc: makeOidcSignIn({ db, vault, agent, domains, signInToOrg }),
    close: verifier.close,
  }
}

export type Sso = ReturnType<typeof makeSso>
