/** The requests and responses of single sign-on settings. */
import { z } from 'zod'
import { maxCertificateChars, maxCertificates } from './certificates.ts'
import { maxMetadataChars } from './idp-metadata.ts'

const address = z.string().trim().min(1).max(2_048)

export const SsoBody = z.object({
  protocol: z.enum(['saml', 'oidc']).nullish(),
  idp_entity_id: z.string().trim().min(1).max(1_024).nullish(),
  idp_sso_url: address.nullish(),
  idp_certificates: z.array(z.string().min(1).max(maxCertificateChars)).max(maxCertificates).min(1).nullish(),
  idp_metadata_xml: z.string().min(1).max(maxMetadataChars).nullish(),
  idp_metadata_url: address.nullish(),
  oidc_issuer: address.nullish(),
  oidc_client_id: z.string().trim().min(1).max(512).nullish(),
  oidc_client_secret: z.string().min(1).max(1_024).nullish(),
  default_role: z.enum(['developer', 'member', 'viewer']).nullish(),
  jit_provisioning: z.boolean().nullish(),
  allow_idp_initiated: z.boolean().nullish(),
  enforced: z.boolean().nullish(),
})
export type SsoBody = z.output<typeof SsoBody>

export const DomainBody = z.object({ domain: z.string().trim().min(1).max(255) })

export const EmailDomain = z.strictObject({
  domain: z.string(),
  verified: z.boolean(),
  txt_name: z.string(),
  txt_value: z.string(),
})

export const SsoResponse = z.strictObject({
  protocol: z.string().nullable(),
  idp_entity_id: z.string().nullable(),
  idp_sso_url: z.string().nullable(),
  idp_certificates: z.array(z.strictObject({ fingerprint_sha256: z.string(), expires_at: z.string() })),
  oidc_issuer: z.string().nullable(),
  oidc_client_id: z.string().nullable(),
  sp: z.strictObject({
    entity_id: z.string(),
    acs_url: z.string(),
    metadata_url: z.string(),
    redirect_uri: z.string(),
    login_url: z.string(),
  }),
  email_domains: z.array(EmailDomain),
  default_role: z.string(),
  jit_provisioning: z.boolean(),
  allow_idp_initiated: z.boolean(),
  enforced: z.boolean(),
  members_outside_domains: z.number(),
  tested: z.boolean(),
  last_login_at: z.string().nullable(),
  updated_at: z.string().nullable(),
})
