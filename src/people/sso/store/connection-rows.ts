/** The connection of an org to its identity provider. Public look-ups start from the slug in an address. */
import { columns, flag, oneOf, type RowOf, text, texts, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

type Protocol = 'saml' | 'oidc'
type JitRole = 'developer' | 'member' | 'viewer'

const connectionColumns = columns({
  org_id: text,
  protocol: oneOf<Protocol>(),
  idp_entity_id: text.orNull,
  idp_sso_url: text.orNull,
  idp_certificates: texts,
  oidc_issuer: text.orNull,
  oidc_client_id: text.orNull,
  oidc_client_secret: text.orNull,
  default_role: oneOf<JitRole>(),
  jit_provisioning: flag,
  allow_idp_initiated: flag,
  configuration: text,
  tested_at: time.orNull,
  last_login_at: time.orNull,
  updated_at: time,
})

export type ConnectionRow = RowOf<typeof connectionColumns>

export type NamedConnection = ConnectionRow & { slug: string }

export const findConnection = statement<{ orgId: string }, NamedConnection>(
  'sso.find_connection',
  `select ${connectionColumns.of('c')}, o.slug
   from sso_connections c join orgs o on o.id = c.org_id and o.deleted_at is null
   where c.org_id = :orgId`,
)

export const findConnectionBySlug = statement<{ slug: string }, NamedConnection>(
  'sso.find_connection_by_slug',
  `select ${connectionColumns.of('c')}, o.slug
   from sso_connections c join orgs o on o.id = c.org_id and o.deleted_at is null
   where o.slug = :slug`,
)

/** Of several orgs that have proven a domain, the first one that has a connection. */
export const findConnectionByDomain = statement<{ domain: string }, NamedConnection>(
  'sso.find_connection_by_domain',
  `select ${connectionColumns.of('c')}, o.slug
   from org_email_domains d
   join sso_connections c on c.org_id = d.org_id
   join orgs o on o.id = c.org_id and o.deleted_at is null
   where d.domain = :domain and d.verified_at is not null
   order by d.verified_at, d.org_id
   limit 1`,
)

export const orgWithSlug = statement<{ slug: string }, { id: string }>(
  'sso.org_with_slug',
  'select id from orgs where slug = :slug and deleted_at is null',
)

export const findSsoOrg = statement<{ orgId: string }, { slug: string; sso_enforced: boolean }>(
  'sso.find_org',
  'select slug, sso_enforced from orgs where id = :orgId and deleted_at is null',
)

export const putConnection = statement<Omit<ConnectionRow, 'last_login_at' | 'updated_at'> & { at: Date }>(
  'sso.put_connection',
  `insert into sso_connections (org_id, protocol, idp_entity_id, idp_sso_url, idp_certificates, oidc_issuer,
     oidc_client_id, oidc_client_secret, default_role, jit_provisioning, allow_idp_initiated, configuration, tested_at,
     created_at, updated_at)
   values (:org_id, :protocol, :idp_entity_id, :idp_sso_url, :idp_certificates::text[], :oidc_issuer,
     :oidc_client_id, :oidc_client_secret, :default_role, :jit_provisioning, :allow_idp_initiated, :configuration,
     :tested_at, :at, :at)
   on conflict (org_id) do update set
     protocol = excluded.protocol, idp_entity_id = excluded.idp_entity_id, idp_sso_url = excluded.idp_sso_url,
     idp_certificates = excluded.idp_certificates, oidc_issuer = excluded.oidc_issuer,
     oidc_client_id = excluded.oidc_client_id, oidc_client_secret = excluded.oidc_client_secret,
     default_role = excluded.default_role, jit_provisioning = excluded.jit_provisioning,
     allow_idp_initiated = excluded.allow_idp_initiated, configuration = excluded.configuration,
     tested_at = excluded.tested_at, updated_at = excluded.updated_at`,
)

export const deleteConnection = statement<{ orgId: string }, { protocol: Protocol }>(
  'sso.delete_connection',
  'delete from sso_connections where org_id = :orgId returning protocol',
)

export const setEnforced = statement<{ orgId: string; enforced: boolean; at: Date }>(
  'sso.set_enforced',
  `update orgs set sso_enforced = :enforced, sso_enforced_at = case when :enforced then :at::timestamptz end,
     updated_at = :at
   where id = :orgId and sso_enforced <> :enforced`,
)

/** Returns no row if another identity provider was configured while the person was away. */
export const markSignedIn = statement<{ orgId: string; configuration: string; at: Date }, { org_id: string }>(
  'sso.mark_signed_in',
  `update sso_connections set last_login_at = :at, tested_at = coalesce(tested_at, :at)
   where org_id = :orgId and configuration = :configuration
   returning org_id`,
)
