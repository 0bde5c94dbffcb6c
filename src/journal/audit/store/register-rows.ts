/** The register: every org that has a chain, in the order in which the chains began. */
import { type NoParams, statement } from '../../../platform/db/statement.ts'
import type { OrgHead } from './chain-rows.ts'

export type RegisterHead = { seq: number; digest: Buffer; signature: string | null }

export const beginRegister = statement<{ at: Date }>(
  'audit.begin_register',
  `insert into audit_register_head (seq, digest, updated_at) values (0, '', :at) on conflict (only_row) do nothing`,
)

/** Orgs are registered one at a time, each once. */
export const lockRegister = statement<NoParams, RegisterHead>(
  'audit.lock_register',
  'select seq, digest, signature from audit_register_head for update',
)

export const addToRegister = statement<RegisterHead & { orgId: string; at: Date }>(
  'audit.add_to_register',
  `with added as (insert into audit_register (seq, org_id, digest) values (:seq, :orgId, :digest))
   update audit_register_head set seq = :seq, digest = :digest, signature = :signature, updated_at = :at`,
)

export const setRegisterSignature = statement<{ signature: string | null; at: Date }>(
  'audit.set_register_signature',
  'update audit_register_head set signature = :signature, updated_at = :at',
)

export const findRegister = statement<NoParams, RegisterHead>(
  'audit.find_register',
  'select seq, digest, signature from audit_register_head',
)

export const readRegister = statement<
  { afterSeq: number; limit: number },
  { seq: number; org_id: string; digest: Buffer }
>(
  'audit.read_register',
  `select seq, org_id, digest from audit_register where seq > :afterSeq order by seq limit :limit`,
)

/** Chains that the register does not name. */
export const unregisteredChains = statement<{ afterOrgId: string; limit: number }, OrgHead>(
  'audit.unregistered_chains',
  `select org_id, head_seq, head_digest, head_signature from audit_chains c
   where org_id > :afterOrgId and not exists (select 1 from audit_register r where r.org_id = c.org_id)
   order by org_id
   limit :limit`,
)
