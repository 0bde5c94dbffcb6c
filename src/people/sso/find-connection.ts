/** Finds the identity provider that a person signs in with. */
import type { Db } from '../../platform/db/pool.ts'
import { domainPart } from '../../platform/ground/mailbox.ts'
import { lookupName } from '../../senders/domains/name.ts'
import { SsoFault } from './sign-in-to-org.ts'
import { findConnectionByDomain, findConnectionBySlug, orgWithSlug } from './store/connection-rows.ts'

export const makeFindConnection = ({ db }: { db: Db }) => ({
  /** By the slug of the org, or by the domain of an email address. */
  forSignIn: async ({ org, email }: { org?: string | undefined; email?: string | undefined }) => {
    const found =
      org === undefined
        ? await db.row(findConnectionByDomain, { domain: email === undefined ? '' : lookupName(domainPart(email)) })
        : await db.row(findConnectionBySlug, { slug: org })
    if (!found) throw new SsoFault('not configured')
    return found
  },

  hasOrg: async (slug: string) => (await db.row(orgWithSlug, { slug })) !== undefined,
})

export type FindConnection = ReturnType<typeof makeFindConnection>
