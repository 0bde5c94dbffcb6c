/** `tidings ops …`: commands for an operator with access to the database. None of them has an HTTP route. */
import { parseArgs } from 'node:util'
import { makeChangePlan } from '../../customers/orgs/change-plan.ts'
import { isPlan, plans } from '../../customers/orgs/plans.ts'
import { type OrgRow, suspendOrg, unsuspendOrg } from '../../customers/orgs/store.ts'
import { makeAudit, operatorTool } from '../../journal/audit/append.ts'
import { makeChain } from '../../journal/audit/chain.ts'
import { openWitness } from '../../journal/audit/open-witness.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { movableClock, systemClock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import { makeVault } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { readSetting } from '../../platform/settings/store.ts'
import { makeCreateOrg } from '../operator/create-org.ts'
import { resolveMasterKey } from '../operator/master-key.ts'
import { keepHead, trustAudit, verifyAudit } from './audit-commands.ts'
import { exportAudit } from './audit-export.ts'
import { withDatabase } from './database.ts'
import { createKey, listKeysOf, revokeKeyOf } from './key-commands.ts'
import {
  asLines,
  type Context,
  existing,
  type Options,
  type Out,
  optionText,
  orgIdOf,
  print,
  required,
} from './ops-context.ts'
import { setDltStatus } from './ops-dlt.ts'
import { checkServiceDns, dnsReportText, unpublishedText } from './ops-dns.ts'
import { changeSmsGeo } from './ops-sms-geo.ts'
import { orgList, orgStatus, showOrg } from './org-reports.ts'
import { opsUsage } from './usage.ts'
import { credentials } from './welcome.ts'

const wholeNumber = (options: Options, name: string, min: number): number | null => {
  const value = optionText(options, name)
  if (value === undefined) return null
  if (!/^\d{1,15}$/.test(value) || Number(value) < min) {
    throw new OperatorFault(`--${name} must be a whole number of at least ${min}.`)
  }
  return Number(value)
}

const planOf = (value: string): OrgRow['plan'] => {
  if (!isPlan(value)) throw new OperatorFault(`Plan ${value} does not exist. Use one of ${plans.join(', ')}.`)
  return value
}

const createOrg = async (context: Context): Promise<void> => {
  const { db, clock, config, options } = context
  const baseUrl = config.baseUrl ?? `http://${config.host}:${config.port}`
  const owner = optionText(options, 'owner')
  if (owner !== undefined && !/^[^\s@]+@[^\s@]+$/.test(owner))
    throw new OperatorFault('--owner must be an email address.')
  const { serviceDomain } = config
  const vault = makeVault(await resolveMasterKey(config), config.masterKeyPrevious)
  const { create } = makeCreateOrg({ db, clock, baseUrl, serviceDomain, vault })
  const created = await create({
    name: required(options, 'name').slice(0, 80),
    plan: planOf(optionText(options, 'plan') ?? 'free'),
    ...(owner !== undefined && { ownerEmail: owner }),
    withSenders: !config.production,
  })
  const heading = '\n  The organisation was created. Save these credentials: they are shown only once.\n\n'
  print(context, created, heading + credentials(created))
}

type Suspension = { orgId: string; action: 'org.suspended' | 'org.unsuspended'; metadata: Record<string, string> }

/** Applies the change together with its audit entry. Returns whether it changed anything. */
const recorded = (
  { db, clock, audit }: Context,
  suspension: Suspension,
  change: (tx: Tx, at: Date) => Promise<unknown>,
): Promise<boolean> =>
  db.tx(async (tx) => {
    if (!(await change(tx, clock.now()))) return false
    await audit(tx, { ...suspension, actor: operatorTool, resourceType: 'org', resourceId: suspension.orgId })
    return true
  })

const suspend = async (context: Context, orgId: string): Promise<void> => {
  const { db, options } = context
  const reason = required(options, 'reason')
  const metadata = { reason, operator: required(options, 'operator') }
  await existing(db, orgId)
  const changed = await recorded(context, { orgId, action: 'org.suspended', metadata }, (tx, at) =>
    tx.row(suspendOrg, { orgId, reason, at }),
  )
  const org = await existing(db, orgId)
  const since = org.suspended_at?.toISOString()
  const text = changed ? `${orgId} is now suspended.` : `${orgId} has already been suspended since ${since}.`
  print(context, showOrg(org), text)
}

const unsuspend = async (context: Context, orgId: string): Promise<void> => {
  const { db, options } = context
  const operator = required(options, 'operator')
  const { suspension_reason } = await existing(db, orgId)
  const metadata = { reason: suspension_reason ?? '', operator }
  const changed = await recorded(context, { orgId, action: 'org.unsuspended', metadata }, (tx, at) =>
    tx.row(unsuspendOrg, { orgId, at }),
  )
  const org = await existing(db, orgId)
  print(context, showOrg(org), changed ? `${orgId} is no longer suspended.` : `${orgId} was not suspended.`)
}

const changePlan = async (context: Context, orgId: string, plan: string | undefined): Promise<void> => {
  const { db, clock, audit, options } = context
  if (plan === undefined) throw new OperatorFault(`A plan is required: one of ${plans.join(', ')}.`)
  const contract = {
    rate: wholeNumber(options, 'rate', 1),
    email: wholeNumber(options, 'email', 0),
    sms: wholeNumber(options, 'sms', 0),
  }
  const next = planOf(plan)
  await existing(db, orgId)
  const change = makeChangePlan({ clock, audit })
  const org = await db.tx((tx) => change(tx, { orgId, plan: next, contract }))
  if (!org) throw new OperatorFault(`Org ${orgId} does not exist.`)
  print(context, showOrg(org), asLines(showOrg(org)))
}

/** Fails if a record is missing, so that a script can wait for the records. */
const checkDns = async (context: Context): Promise<void> => {
  const { db, clock, config, options } = context
  const report = await checkServiceDns({ db, clock, config, address: optionText(options, 'address') })
  print(context, report, dnsReportText(report))
  if (!report.published) throw new OperatorFault(unpublishedText(report))
}

type Command = (context: Context, rest: string[]) => Promise<void>

const commands = new Map<string, Command>([
  ['dns', checkDns],
  ['org create', createOrg],
  ['org suspend', (context, [org]) => suspend(context, orgIdOf(org))],
  ['org unsuspend', (context, [org]) => unsuspend(context, orgIdOf(org))],
  ['org status', (context, [org]) => orgStatus(context, orgIdOf(org))],
  ['org list', orgList],
  ['org plan', (context, [org, plan]) => changePlan(context, orgIdOf(org), plan)],
  ['org sms-geo', (context, [org, countries]) => changeSmsGeo(context, orgIdOf(org), countries)],
  ['key create', (context, [org]) => createKey(context, orgIdOf(org))],
  ['key list', (context, [org]) => listKeysOf(context, orgIdOf(org))],
  ['key revoke', (context, [org, key]) => revokeKeyOf(context, orgIdOf(org), key)],
  ['dlt set', (context, [org, id]) => setDltStatus(context, orgIdOf(org), id)],
  ['audit verify', (context, [org]) => verifyAudit(context, context.options.all ? undefined : orgIdOf(org))],
  ['audit head', (context, [org]) => keepHead(context, org === undefined ? undefined : orgIdOf(org))],
  ['audit export', (context, [org]) => exportAudit(context, orgIdOf(org))],
  ['audit trust', (context, [org]) => trustAudit(context, orgIdOf(org))],
])

const dispatch = async (context: Context, [noun, verb, ...rest]: string[]): Promise<void> => {
  const command = commands.get([noun, verb].join(' ').trim())
  if (!command) throw new OperatorFault(`Unknown command.\n\n${opsUsage}`)
  await command(context, rest)
}

const flags = ['json', 'all']
const texts =
  'name plan owner reason operator rate email sms environment scopes witness head created-after address limit cursor status template-id'

const parse = (args: string[]): { positionals: string[]; values: Options } => {
  const types = [
    ...flags.map((name) => [name, 'boolean'] as const),
    ...texts.split(' ').map((name) => [name, 'string'] as const),
  ]
  try {
    const options = Object.fromEntries(types.map(([name, type]) => [name, { type }]))
    return parseArgs({ args, allowPositionals: true, options }) as { positionals: string[]; values: Options }
  } catch (error) {
    throw new OperatorFault(`${(error as Error).message}\n\n${opsUsage}`)
  }
}

export const ops = (config: Config, log: Log, args: string[], out: Out): Promise<void> => {
  const { positionals, values: options } = parse(args)
  return withDatabase(config, log, async (db) => {
    const offset = config.devTools ? await db.row(readSetting, { name: 'clock_offset_ms' }) : undefined
    const clock = offset ? movableClock(Number(offset.value)) : systemClock
    const { auditSecrets: secrets, auditWitness: name, awsRegion: region } = config
    const audit = makeAudit({ clock, log, secret: config.auditSigningSecret })
    const witness = name === undefined ? undefined : openWitness({ name, region, clock, log })
    const chain = makeChain({ db, clock, log, secrets, cutover: config.auditCutover.at, witness })
    await dispatch({ db, clock, log, audit, chain, config, options, out }, positionals).finally(() => chain.close())
  })
}
