/** The settings of single sign-on of an org. */
import { countOutsideDomains, endSessionsOutsideSso } from '../../customers/accounts/store/enforcement-rows.ts'
import type { AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { randomBase62, type Vault } from '../../platform/ground/crypto.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { GuardedAgent } from '../../platform/outgoing/guarded.ts'
import { asOwner, lockAsOwner } from '../team/change-team.ts'
import { maxDomains } from './email-domains.ts'
import { type GivenProvider, readGivenProvider } from './given-provider.ts'
import type { SsoBody } from './shapes.ts'
import {
  type ConnectionRow,
  deleteConnection,
  findConnection,
  findSsoOrg,
  putConnection,
  setEnforced,
} from './store/connection-rows.ts'
import { deleteAllEmailDomains, listEmailDomains, listVerifiedDomains } from './store/email-domain-rows.ts'

/** The context that the client secret of an org is sealed with. */
export const secretContext = (orgId: string): string => `sso_connections.oidc_client_secret ${orgId}`

type Chosen = 'default_role' | 'jit_provisioning' | 'allow_idp_initiated'
type Provider = Omit<ConnectionRow, Chosen | 'org_id' | 'last_login_at' | 'updated_at'>

const noSaml = { idp_entity_id: null, idp_sso_url: null, idp_certificates: [] }
const noOidc = { oidc_issuer: null, oidc_client_id: null, oidc_client_secret: null }
const untested = () => ({ configuration: randomBase62(16), tested_at: null })

/**
 * The given identity provider. It counts as tested if it is the one that was tested. A certificate may be added or
 * removed as long as one of those that were tested stays: that is how a certificate is rolled over.
 */
const mergeProvider = (
  given: GivenProvider | undefined,
  former: ConnectionRow | undefined,
  seal: (secret: string) => string,
): Provider => {
  if (!given) {
    if (!former) throw invalid(['idp_metadata_xml'], 'custom', 'Give the identity provider.')
    return former
  }
  if (given.protocol === 'saml') {
    const same =
      former?.protocol === 'saml' &&
      former.idp_entity_id === given.entityId &&
      former.idp_sso_url === given.ssoUrl &&
      former.idp_certificates.some((pem) => given.certificates.includes(pem))
    const { configuration, tested_at } = same ? former : untested()
    const { entityId, ssoUrl, certificates } = given
    const saml = { idp_entity_id: entityId, idp_sso_url: ssoUrl, idp_certificates: certificates }
    return { protocol: 'saml', ...saml, ...noOidc, configuration, tested_at }
  }
  const { issuer, clientId, clientSecret } = given
  const same = former?.oidc_issuer === issuer && former.oidc_client_id === clientId
  // The secret of one issuer is never sent to another.
  if (!same && clientSecret === undefined) throw invalid(['oidc_client_secret'], 'custom', 'Give the client secret.')
  const secret = clientSecret === undefined ? (former?.oidc_client_secret ?? null) : seal(clientSecret)
  const { configuration, tested_at } = same && former ? former : untested()
  const oidc = { oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret: secret }
  return { protocol: 'oidc', ...oidc, ...noSaml, configuration, tested_at }
}

const comparedFields = [
  'protocol',
  'idp_entity_id',
  'idp_sso_url',
  'idp_certificates',
  'oidc_issuer',
  'oidc_client_id',
  'oidc_client_secret',
  'default_role',
  'jit_provisioning',
  'allow_idp_initiated',
] as const

type Compared = Pick<ConnectionRow, (typeof comparedFields)[number]>

const changedFields = (next: Compared, former: ConnectionRow | undefined): string[] =>
  comparedFields.filter((field) => JSON.stringify(next[field]) !== JSON.stringify(former?.[field]))

export const makeManageSso = (needs: AuditedNeeds & { vault: Vault; agent: GuardedAgent; allowInsecure: boolean }) => {
  const { db, clock, audit, vault } = needs

  const read = async (runner: Pick<Tx, 'row' | 'rows'>, orgId: string) => {
    const org = await orNotFound(runner.row(findSsoOrg, { orgId }))
    const connection = await runner.row(findConnection, { orgId })
    const domains = await runner.rows(listEmailDomains, { orgId, limit: maxDomains })
    // Members who would lose the org if it enforced single sign-on.
    const outside = await runner.row(countOutsideDomains, { orgId })
    return { slug: org.slug, enforced: org.sso_enforced, connection, domains, outsideDomains: outside?.n ?? 0 }
  }

  const mayEnforce = async (tx: Tx, orgId: string, { tested_at }: Provider): Promise<void> => {
    if (tested_at === null) throw new Failure('SSO_NOT_TESTED')
    if ((await tx.rows(listVerifiedDomains, { orgId })).length === 0) throw new Failure('SSO_NO_DOMAIN')
  }

  const putWithin = async (tx: Tx, orgId: string, actor: UserActor, body: SsoBody, given?: GivenProvider) => {
    await lockAsOwner(tx, orgId, actor)
    const { connection: former, enforced: was } = await read(tx, orgId)
    const provider = mergeProvider(given, former, (secret) => vault.seal(secret, secretContext(orgId)))
    const enforced = body.enforced ?? was
    if (enforced) await mayEnforce(tx, orgId, provider)
    const next = {
      ...provider,
      default_role: body.default_role ?? former?.default_role ?? 'viewer',
      jit_provisioning: body.jit_provisioning ?? former?.jit_provisioning ?? true,
      allow_idp_initiated: body.allow_idp_initiated ?? former?.allow_idp_initiated ?? false,
    }
    const changed = [...changedFields(next, former), ...(enforced === was ? [] : ['enforced'])]
    if (changed.length === 0) return
    await tx.change(putConnection, { ...next, org_id: orgId, at: clock.now() })
    await tx.change(setEnforced, { orgId, enforced, at: clock.now() })
    const ended = enforced && !was ? await tx.rows(endSessionsOutsideSso, { orgId }) : []
    const endings = ended.length > 0 && { ended_sessions: ended.length }
    const metadata = { protocol: next.protocol, enforced, changed, ...endings }
    await audit(tx, { orgId, actor, action: 'org.sso_updated', resourceType: 'sso', resourceId: orgId, metadata })
  }

  return {
    read: (orgId: string) => read(db, orgId),
    /** What the body leaves out stays. */
    put: async (orgId: string, actor: UserActor, body: SsoBody) => {
      const given = await readGivenProvider(body, needs)
      return db.tx(async (tx) => {
        await putWithin(tx, orgId, actor, body, given)
        return read(tx, orgId)
      })
    },
    remove: (orgId: string, actor: UserActor) =>
      asOwner(db, orgId, actor, async (tx) => {
        const removed = await orNotFound(tx.row(deleteConnection, { orgId }))
        await tx.change(setEnforced, { orgId, enforced: false, at: clock.now() })
        const metadata = { protocol: removed.protocol }
        await audit(tx, { orgId, actor, action: 'org.sso_removed', resourceType: 'sso', resourceId: orgId, metadata })
      }),
  }
}

export type ManageSso = ReturnType<typeof makeManageSso>
export type SsoSettings = Awaited<ReturnType<ManageSso['read']>>

/** Ends single sign-on of an org that is deleted, in the transaction of the deletion. */
export const endSsoOfOrg = async (tx: Tx, { orgId, at }: { orgId: string; at: Date }): Promise<void> => {
  await tx.row(deleteConnection, { orgId })
  await tx.change(deleteAllEmailDomains, { orgId })
  await tx.change(setEnforced, { orgId, enforced: false, at })
}
