/** Finds the identity provider that a person signs in with. */
import type { Db } from '../../platform/db/pool.ts'
import { domainPart } from '../../platform/ground/mailbox.ts'
import { lookupName } from '../../senders/domains/name.ts'
import { SsoFault } from './sign-in-to-org.ts'
import {
  findConnectionByDomain,
  findConnectionBySlug,
  type NamedConnection,
  orgWithSlug,
} from './store/connection-rows.ts'

export interface FindConnection {
  /** By the slug of the org, or by the domain of an email address. */
  forSignIn(by: { org?: string | undefined; email?: string | undefined }): Promise<NamedConnection>
  hasOrg(slug: string): Promise<boolean>
}

export const makeFindConnection = ({ db }: { db: Db }): FindConnection => ({
  forSignIn: async ({ org, email }) => {
    const found =
      org === undefined
        ? await db.row(findConnectionByDomain, { domain: email === undefined ? '' : lookupName(domainPart(email)) })
        : await db.row(findConnectionBySlug, { slug: org })
    if (!found) throw new SsoFault('not configured')
    return found
  },

  hasOrg: async (slug) => (await db.row(orgWithSlug, { slug })) !== undefined,
})
