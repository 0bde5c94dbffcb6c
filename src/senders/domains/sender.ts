/** Decides which domain an email is sent from. Runs before every email, so rows are cached for a short time. */
import type { Db } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { lookupName } from './name.ts'
import { type RecordStatuses, returnHost } from './records.ts'
import type { Region } from './region.ts'
import { findOrgSlug, findSenders, type SenderRow } from './store/sender-rows.ts'
import { type Warmup, warmupCap } from './warmup.ts'

export { warmupCap }

export type DomainSender = {
  kind: 'domain'
  domainId: string
  name: string
  projectId: string
  tenantId: string | null
  region: Region
  /** The pool's name at the provider: its own name, or one with a number when another pool already uses that name. */
  ipPool: string | null
  /** The host that receives bounces, once both its records are published. Until then the sender receives them. */
  returnPath: string | null
  dkim: { domain: string; selector: string; privateKey: string } | null
  warmup: Warmup | null
}

export type Sender = DomainSender | { kind: 'sandbox'; name: string }

export type SendingCaller = Scope & { allowedDomainIds: readonly string[] | null }

type Needs = {
  db: Db
  trusted: () => boolean
  serviceDomain: string
  /** Whether the return paths of domains lead to this service. With SES they lead to Amazon. */
  ownReturnPaths: boolean
  open: (sealed: string, domainId: string) => string
}

/** A row and, after its first use, its sender. */
type Candidate = { row: SenderRow; sender: DomainSender | undefined }
/** All rows of a name, and those that may send live mail, which excludes rows that a test key created. */
type Known = { kind: 'rows'; rows: Candidate[]; live: Candidate[] } | { kind: 'sandbox'; own: boolean }

/** A caller without a tenant may use every row of the org. A row without a tenant is open to all tenants. */
const isOpenToTenant = ({ tenantId }: Scope, { tenant_id }: SenderRow): boolean =>
  tenantId === null || tenant_id === null || tenant_id === tenantId

/** The order of preference among several rows: the caller's tenant, its project, the default project, the oldest. */
const rank = ({ tenantId, projectId }: Scope, row: SenderRow): number =>
  (row.tenant_id === tenantId ? 4 : 0) + (row.project_id === projectId ? 2 : 0) + (row.default_project ? 1 : 0)

const highestRanked = (caller: Scope, candidates: Candidate[]): Candidate | undefined =>
  candidates.reduce<Candidate | undefined>(
    (best, next) => (best && rank(caller, best.row) >= rank(caller, next.row) ? best : next),
    undefined,
  )

const canReceiveBounces = ({ RETURN_PATH, SPF }: RecordStatuses): boolean => RETURN_PATH === 'found' && SPF === 'found'

export const makeSenders = ({ db, trusted, serviceDomain, ownReturnPaths, open }: Needs) => {
  const copies = makeShortCache<Known>({ trusted })
  const sandboxes = `.sandbox.${serviceDomain.toLowerCase()}`

  const read = async (orgId: string, name: string): Promise<Known> => {
    if (name.endsWith(sandboxes)) {
      const org = await db.row(findOrgSlug, { orgId })
      return { kind: 'sandbox', own: org !== undefined && name === `${org.slug}${sandboxes}` }
    }
    const found = await db.rows(findSenders, { orgId, name })
    const rows = found.map((row): Candidate => ({ row, sender: undefined }))
    return { kind: 'rows', rows, live: rows.filter(({ row }) => row.created_environment === 'live') }
  }

  const find = (orgId: string, name: string) => copies.through(`${orgId} ${name}`, orgId, () => read(orgId, name))

  /** The rows that the key's restrictions allow. A restricted key cannot use the sandbox, which has no row. */
  const allowedRows = (caller: SendingCaller, known: Known, among: 'rows' | 'live'): Candidate[] => {
    const { allowedDomainIds, projectId } = caller
    const rows = known.kind === 'rows' ? known[among] : []
    if (allowedDomainIds === null && projectId === null) return rows
    const allowed = rows.filter(
      ({ row }) =>
        (allowedDomainIds === null || allowedDomainIds.includes(row.id)) &&
        (projectId === null || projectId === row.project_id),
    )
    if (allowed.length === 0) throw new Failure('DOMAIN_NOT_ALLOWED_FOR_KEY')
    return allowed
  }

  const senderOf = (row: SenderRow): DomainSender => ({
    kind: 'domain',
    domainId: row.id,
    name: row.name,
    projectId: row.project_id,
    tenantId: row.tenant_id,
    region: row.region,
    ipPool: row.ip_pool_name,
    returnPath: ownReturnPaths && canReceiveBounces(row.record_statuses) ? returnHost(row) : null,
    dkim:
      row.dkim_private_key === null
        ? null
        : { domain: row.name, selector: row.dkim_selector, privateKey: open(row.dkim_private_key, row.id) },
    warmup:
      row.warmup_days === null || row.warmup_started_at === null
        ? null
        : { days: row.warmup_days, startedAt: row.warmup_started_at },
  })

  const chooseSender = (caller: SendingCaller, name: string, known: Known): Sender => {
    const allowed = allowedRows(caller, known, 'live')
    if (known.kind === 'sandbox') {
      if (!known.own) throw new Failure('SENDER_DOMAIN_NOT_VERIFIED')
      return { kind: 'sandbox', name }
    }
    const ofTenant = allowed.filter(({ row }) => isOpenToTenant(caller, row))
    if (allowed.length > 0 && ofTenant.length === 0) throw new Failure('DOMAIN_TENANT_MISMATCH')
    const chosen = highestRanked(
      caller,
      ofTenant.filter(({ row }) => row.status === 'verified'),
    )
    if (!chosen) throw new Failure('SENDER_DOMAIN_NOT_VERIFIED')
    if (chosen.row.paused) throw new Failure('IP_POOL_PAUSED')
    chosen.sender ??= senderOf(chosen.row)
    return chosen.sender
  }

  return {
    /** The sender of a live email. Throws the first check that fails, in this order: key, tenant, verification, pool. */
    resolve: (caller: SendingCaller, domainName: string): MaybePromise<Sender> => {
      const name = lookupName(domainName)
      return andThen(find(caller.orgId, name), (known) => chooseSender(caller, name, known))
    },

    /** A test email may use any domain that the key's own restrictions allow. */
    assertTestAllowed: async (caller: SendingCaller, domainName: string) => {
      // An unrestricted key needs no lookup.
      if (caller.allowedDomainIds === null && caller.projectId === null) return
      allowedRows(caller, await find(caller.orgId, lookupName(domainName)), 'rows')
    },

    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}

export type Senders = ReturnType<typeof makeSenders>
