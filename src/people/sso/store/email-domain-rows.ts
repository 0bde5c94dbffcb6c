/** Domains of people's addresses that an org has proven, or wants to. */
import { statement } from '../../../platform/db/statement.ts'

export type EmailDomainRow = { domain: string; token: string; verified_at: Date | null }

export const listEmailDomains = statement<{ orgId: string; limit: number }, EmailDomainRow>(
  'sso.list_email_domains',
  'select domain, token, verified_at from org_email_domains where org_id = :orgId order by created_at, domain limit :limit',
)

export const findEmailDomain = statement<{ orgId: string; domain: string }, EmailDomainRow>(
  'sso.find_email_domain',
  'select domain, token, verified_at from org_email_domains where org_id = :orgId and domain = :domain',
)

export const listVerifiedDomains = statement<{ orgId: string }, { domain: string }>(
  'sso.list_verified_domains',
  `select domain from org_email_domains
   where org_id = :orgId and verified_at is not null
   order by domain
   limit 1000`,
)

/** Returns no row if the org has the domain already. */
export const insertEmailDomain = statement<{ orgId: string; domain: string; token: string; at: Date }, EmailDomainRow>(
  'sso.insert_email_domain',
  `insert into org_email_domains (org_id, domain, token, created_at)
   values (:orgId, :domain, :token, :at)
   on conflict (org_id, domain) do nothing
   returning domain, token, verified_at`,
)

/** Returns no row if it is verified already, or was removed or added anew since the look-up. */
export const markDomainVerified = statement<
  { orgId: string; domain: string; token: string; at: Date },
  { domain: string }
>(
  'sso.mark_domain_verified',
  `update org_email_domains set verified_at = :at
   where org_id = :orgId and domain = :domain and token = :token and verified_at is null
   returning domain`,
)

export const deleteEmailDomain = statement<{ orgId: string; domain: string }, { domain: string }>(
  'sso.delete_email_domain',
  'delete from org_email_domains where org_id = :orgId and domain = :domain returning domain',
)

export const deleteAllEmailDomains = statement<{ orgId: string }>(
  'sso.delete_all_email_domains',
  'delete from org_email_domains where org_id = :orgId',
)
