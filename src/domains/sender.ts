/** Who may send from where. Asked before every email, so what the database says is kept for a moment. */
import type { Db } from '../db/pool.ts'
import { makeShortCache } from '../db/short-cache.ts'
import { Failure } from '../ground/errors.ts'
import { andThen, type MaybePromise } from '../ground/maybe-promise.ts'
import type { Scope } from '../ground/scope.ts'
import { lookupName } from './name.ts'
import { type RecordStatuses, returnHost } from './records.ts'
import type { Region } from './region.ts'
import { findOrgSlug, findSenders, type SenderRow } from './store.ts'
import { type Warmup, warmupCap } from './warmup.ts'

export { warmupCap }

export type DomainSender = {
  kind: 'domain'
  domainId: string
  name: string
  projectId: string
  tenantId: string | null
  region: Region
  /** As the provider knows it: its name, or one after it where another pool has that. */
  ipPool: string | null
  /** The host that bounces come back to, once both its records are published; else they go to the sender. */
  returnPath: string | null
  dkim: { domain: string; selector: string; privateKey: string } | null
  warmup: Warmup | null
}

export type Sender = DomainSender | { kind: 'sandbox'; name: string }

export type SendingCaller = Scope & { allowedDomainIds: readonly string[] | null }

export interface Senders {
  /** The sender of a live email, or the first of the refusals in their order: key, tenant, proof, pool. */
  judge(caller: SendingCaller, domainName: string): MaybePromise<Sender>
  /** A test email may name any domain, save where the key itself is held to some. */
  judgeTest(caller: SendingCaller, domainName: string): Promise<void>
  forgetOrg(orgId: string): void
  forgetAll(): void
}

type Needs = {
  db: Db
  trusted: () => boolean
  serviceDomain: string
  open: (sealed: string, domainId: string) => string
}

/** A row and, once it was asked for, what it sends as. */
type Held = { row: SenderRow; sender: DomainSender | undefined }
/** All rows of a name and, of these, what live mail may leave from: not what a test key made. */
type Known = { kind: 'rows'; rows: Held[]; live: Held[] } | { kind: 'sandbox'; own: boolean }

/** A null tenant is the whole org, and a row without a tenant is everybody's in it. */
const ofTenant = ({ tenantId }: Scope, { tenant_id }: SenderRow): boolean =>
  tenantId === null || tenant_id === null || tenant_id === tenantId

/** Of several the one nearest to the caller: its tenant, its project, the default project, the oldest. */
const nearness = ({ tenantId, projectId }: Scope, row: SenderRow): number =>
  (row.tenant_id === tenantId ? 4 : 0) + (row.project_id === projectId ? 2 : 0) + (row.default_project ? 1 : 0)

const nearest = (caller: Scope, held: Held[]): Held | undefined =>
  held.reduce<Held | undefined>(
    (best, next) => (best && nearness(caller, best.row) >= nearness(caller, next.row) ? best : next),
    undefined,
  )

const takesBounces = ({ RETURN_PATH, SPF }: RecordStatuses): boolean => RETURN_PATH === 'found' && SPF === 'found'

export const makeSenders = ({ db, trusted, serviceDomain, open }: Needs): Senders => {
  const copies = makeShortCache<Known>({ trusted })
  const sandboxes = `.sandbox.${serviceDomain.toLowerCase()}`

  const read = async (orgId: string, name: string): Promise<Known> => {
    if (name.endsWith(sandboxes)) {
      const org = await db.row(findOrgSlug, { orgId })
      return { kind: 'sandbox', own: org !== undefined && name === `${org.slug}${sandboxes}` }
    }
    const found = await db.rows(findSenders, { orgId, name })
    const rows = found.map((row): Held => ({ row, sender: undefined }))
    return { kind: 'rows', rows, live: rows.filter(({ row }) => row.created_environment === 'live') }
  }

  const find = (orgId: string, name: string) => copies.through(`${orgId} ${name}`, orgId, () => read(orgId, name))

  /** The rows that the key's own restrictions leave open. The sandbox is none of a project's, nor on any list. */
  const openTo = (caller: SendingCaller, known: Known, among: 'rows' | 'live'): Held[] => {
    const { allowedDomainIds, projectId } = caller
    const rows = known.kind === 'rows' ? known[among] : []
    if (allowedDomainIds === null && projectId === null) return rows
    const left = rows.filter(
      ({ row }) =>
        (allowedDomainIds === null || allowedDomainIds.includes(row.id)) &&
        (projectId === null || projectId === row.project_id),
    )
    if (left.length === 0) throw new Failure('DOMAIN_NOT_ALLOWED_FOR_KEY')
    return left
  }

  const senderOf = (row: SenderRow): DomainSender => ({
    kind: 'domain',
    domainId: row.id,
    name: row.name,
    projectId: row.project_id,
    tenantId: row.tenant_id,
    region: row.region,
    ipPool: row.ip_pool_name,
    returnPath: takesBounces(row.record_statuses) ? returnHost(row) : null,
    dkim:
      row.dkim_private_key === null
        ? null
        : { domain: row.name, selector: row.dkim_selector, privateKey: open(row.dkim_private_key, row.id) },
    warmup:
      row.warmup_days === null || row.warmup_started_at === null
        ? null
        : { days: row.warmup_days, startedAt: row.warmup_started_at },
  })

  const judgeKnown = (caller: SendingCaller, name: string, known: Known): Sender => {
    const left = openTo(caller, known, 'live')
    if (known.kind === 'sandbox') {
      if (!known.own) throw new Failure('SENDER_DOMAIN_NOT_VERIFIED')
      return { kind: 'sandbox', name }
    }
    const ours = left.filter(({ row }) => ofTenant(caller, row))
    if (left.length > 0 && ours.length === 0) throw new Failure('DOMAIN_TENANT_MISMATCH')
    const chosen = nearest(
      caller,
      ours.filter(({ row }) => row.status === 'verified'),
    )
    if (!chosen) throw new Failure('SENDER_DOMAIN_NOT_VERIFIED')
    if (chosen.row.paused) throw new Failure('IP_POOL_PAUSED')
    chosen.sender ??= senderOf(chosen.row)
    return chosen.sender
  }

  return {
    judge: (caller, domainName) => {
      const name = lookupName(domainName)
      return andThen(find(caller.orgId, name), (known) => judgeKnown(caller, name, known))
    },

    judgeTest: async (caller, domainName) => {
      // Without a restriction there is nothing to look up.
      if (caller.allowedDomainIds === null && caller.projectId === null) return
      openTo(caller, await find(caller.orgId, lookupName(domainName)), 'rows')
    },

    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}
