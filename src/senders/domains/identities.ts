/** Keeps the identities of domains at the provider in step with the domains. */
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import {
  type DomainIdentities,
  IdentityFault,
  type IdentityState,
  type NewIdentity,
} from '../../providers/email/domain-identities.ts'
import { dkimKeyContext } from './dkim-key.ts'
import type { CheckResult } from './dns.ts'
import { returnHost } from './records.ts'
import type { Region } from './region.ts'
import { type DomainRow, findDkimKey, findOtherIdentity, inheritIdentity, recordIdentity } from './store/domain-rows.ts'

export type IdentityOrigin = 'created' | 'adopted'

const failureCodes = {
  unavailable: 'PROVIDER_UNAVAILABLE',
  forbidden: 'PROVIDER_UNAVAILABLE',
  empty: 'PROVIDER_EMPTY',
  refused: 'PROVIDER_ERROR',
} as const

/** A fault of the provider as a response. Any other error stays what it is. */
const asProviderFailure = (error: unknown): unknown =>
  error instanceof IdentityFault
    ? new Failure(failureCodes[error.kind], { message: error.message, cause: error })
    : error

type Needs = { identities: DomainIdentities; db: Db; vault: Vault; log: Log }

export const makeKeepIdentities = ({ identities, db, vault, log }: Needs) => {
  const identityOf = async (row: DomainRow): Promise<NewIdentity> => {
    const found = await db.row(findDkimKey, { orgId: row.org_id, id: row.id })
    if (!found?.dkim_private_key) throw new Error(`domain ${row.id} has no DKIM key`)
    return {
      name: row.name,
      region: row.region,
      selector: row.dkim_selector,
      privateKey: vault.open(found.dkim_private_key, dkimKeyContext(row.id)),
      returnHost: returnHost(row),
    }
  }

  const record = async ({ org_id, id }: DomainRow, identity: IdentityOrigin): Promise<void> => {
    await db.change(recordIdentity, { orgId: org_id, id, identity })
  }

  const originOf = (outcome: 'created' | 'exists'): IdentityOrigin => (outcome === 'created' ? 'created' : 'adopted')

  /**
   * A domain is not at the provider yet when it was promoted from test mode, or is older than the provider's
   * configuration. Undefined means that the provider had the identity and has lost it.
   */
  const findOrCreate = async (row: DomainRow): Promise<IdentityState | undefined> => {
    const state = await identities.read(row)
    if (state) {
      if (row.identity === null) await record(row, 'adopted')
      return state
    }
    const wasThere = row.identity === 'created' || (row.identity === 'adopted' && row.status === 'verified')
    if (wasThere) return undefined
    await record(row, originOf(await identities.create(await identityOf(row))))
    return { dkim: 'PENDING', selectors: [row.dkim_selector] }
  }

  const checkIdentity = async (row: DomainRow, dns: CheckResult): Promise<CheckResult> => {
    const state = await findOrCreate(row)
    if (!state) return { ...dns, dkim: 'IDENTITY_NOT_FOUND' }
    // Several orgs may add one name, but a provider has one identity for it. The owner of the DNS zone gets it.
    if (state.dkim !== 'SUCCESS' && !state.selectors.includes(row.dkim_selector)) {
      await identities.setKey(await identityOf(row))
      return { ...dns, dkim: 'PENDING' }
    }
    return { ...dns, dkim: state.dkim }
  }

  const create = async (identity: NewIdentity): Promise<IdentityOrigin> => {
    try {
      return originOf(await identities.create(identity))
    } catch (error) {
      log.warn({ err: error, domain: identity.name }, 'domain identity not created')
      throw asProviderFailure(error)
    }
  }

  const notRemoved = (error: unknown, domain: string): void =>
    log.warn({ err: error, domain }, 'domain identity not removed')

  const removeUnused = async (row: DomainRow): Promise<void> => {
    if (row.identity !== 'created') return
    if (await db.row(findOtherIdentity, { name: row.name, region: row.region, id: row.id })) return
    await identities.remove(row)
  }

  return {
    /** Before the domain is stored. Rejects with a 502 when the provider does not take the domain. */
    create,

    /** Before the domain moves to the region. Rejects with a 502 when the provider does not take the domain there. */
    prepare: async (row: DomainRow, region: Region) => {
      const identity = { ...(await identityOf(row)), region }
      return { identity, origin: await create(identity) }
    },

    /** After the domain left its region. Nothing uses an identity that the provider keeps, so that is only logged. */
    release: (row: DomainRow) => removeUnused(row).catch((error) => notRemoved(error, row.name)),

    /** After a domain could not be stored. */
    undo: async (identity: NewIdentity, origin: IdentityOrigin) => {
      if (origin !== 'created') return
      await identities.remove(identity).catch((error) => notRemoved(error, identity.name))
    },

    /** Before the domain is deleted. Rejects with a 502 when the provider keeps the identity. */
    remove: async (row: DomainRow) => {
      try {
        await removeUnused(row)
      } catch (error) {
        notRemoved(error, row.name)
        throw asProviderFailure(error)
      }
    },

    /** In the transaction that deletes or moves the domain: another domain with the same identity takes it over. */
    inherit: async (tx: Tx, row: DomainRow) => {
      if (row.identity === 'created') await tx.change(inheritIdentity, { name: row.name, region: row.region })
    },

    /** Combines the result of a DNS check with what the provider says about the domain. */
    check: async (row: DomainRow, dns: CheckResult): Promise<CheckResult> => {
      // Until the owner has published the record there is nothing to ask. A test-mode domain never reaches a provider.
      if (dns.dkim !== 'SUCCESS' || row.created_environment !== 'live') return dns
      try {
        return await checkIdentity(row, dns)
      } catch (error) {
        if (!(error instanceof IdentityFault)) throw error
        log.warn({ err: error, domain_id: row.id }, 'domain identity not checked')
        // A fault of the provider's API says nothing about the domain. It neither verifies nor unverifies one.
        return row.status === 'verified' || error.kind === 'forbidden' ? dns : { ...dns, dkim: 'TEMPORARY_FAILURE' }
      }
    },
  }
}

export type KeepIdentities = ReturnType<typeof makeKeepIdentities>
