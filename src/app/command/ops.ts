/** `tidings ops …`: commands for an operator with access to the database. None of them has an HTTP route. */
import { parseArgs } from 'node:util'
import { makeAudit } from '../audit/append.ts'
import { makeChain } from '../audit/chain.ts'
import { openWitness } from '../audit/open-witness.ts'
import { movableClock, systemClock } from '../ground/clock.ts'
import type { Config } from '../ground/config/config.ts'
import { makeVault } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import { makeCreateOrg } from '../operator/create-org.ts'
import { resolveMasterKey } from '../operator/master-key.ts'
import { writeOperatorEntry } from '../operator/operator-entry.ts'
import { makeChangePlan } from '../orgs/change-plan.ts'
import { isPlan, plans } from '../orgs/plans.ts'
import { type OrgRow, suspendOrg, unsuspendOrg } from '../orgs/store.ts'
import { readSetting } from '../settings/store.ts'
import { keepHead, trustAudit, verifyAudit } from './audit-commands.ts'
import { exportAudit } from './audit-export.ts'
import { Fault } from './command-fault.ts'
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
    throw new Fault(`--${name} must be a whole number of at least ${min}.`)
  }
  return Number(value)
}

const planOf = (value: string): OrgRow['plan'] => {
  if (!isPlan(value)) throw new Fault(`Plan ${value} does not exist. Use one of ${plans.join(', ')}.`)
  return value
}

const createOrg = async (context: Context): Promise<void> => {
  const { db, clock, config, options } = context
  const baseUrl = config.baseUrl ?? `http://${config.host}:${config.port}`
  const owner = optionText(options, 'owner')
  if (owner !== undefined && !/^[^\s@]+@[^\s@]+$/.test(owner)) throw new Fault('--owner must be an email address.')
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

const suspend = async (context: Context, orgId: string): Promise<void> => {
  const { db, clock, log, config, options } = context
  const reason = required(options, 'reason')
  const operator = required(options, 'operator')
  await existing(db, orgId)
  const changed = await db.tx(async (tx) => {
    const at = clock.now()
    const secret = config.auditSigningSecret
    const done = await tx.row(suspendOrg, { orgId, reason, at })
    const metadata = { reason, operator }
    if (done) await writeOperatorEntry(tx, log, { orgId, action: 'org.suspended', metadata, at, secret })
    return done
  })
  const org = await existing(db, orgId)
  const since = org.suspended_at?.toISOString()
  print(
    context,
    showOrg(org),
    changed ? `${orgId} is now suspended.` : `${orgId} has already been suspended since ${since}.`,
  )
}

const unsuspend = async (context: Context, orgId: string): Promise<void> => {
  const { db, clock, log, config, options } = context
  const operator = required(options, 'operator')
  const { suspension_reason } = await existing(db, orgId)
  const metadata = { reason: suspension_reason ?? '', operator }
  const changed = await db.tx(async (tx) => {
    const at = clock.now()
    const secret = config.auditSigningSecret
    const done = await tx.row(unsuspendOrg, { orgId, at })
    if (done) await writeOperatorEntry(tx, log, { orgId, action: 'org.unsuspended', metadata, at, secret })
    return done
  })
  const org = await existing(db, orgId)
  print(context, showOrg(org), changed ? `${orgId} is no longer suspended.` : `${orgId} was not suspended.`)
}

const changePlan = async (context: Context, orgId: string, plan: string | undefined): Promise<void> => {
  const { db, clock, audit, options } = context
  if (plan === undefined) throw new Fault(`A plan is required: one of ${plans.join(', ')}.`)
  const contract = {
    rate: wholeNumber(options, 'rate', 1),
    email: wholeNumber(options, 'email', 0),
    sms: wholeNumber(options, 'sms', 0),
  }
  const next = planOf(plan)
  await existing(db, orgId)
  const change = makeChangePlan({ clock, audit })
  const org = await db.tx((tx) => change(tx, { orgId, plan: next, contract }))
  if (!org) throw new Fault(`Org ${orgId} does not exist.`)
  print(context, showOrg(org), asLines(showOrg(org)))
}

/** Fails if a record is missing, so that a script can wait for the records. */
const checkDns = async (context: Context): Promise<void> => {
  const { db, clock, config, options } = context
  const report = await checkServiceDns({ db, clock, config, address: optionText(options, 'address') })
  print(context, report, dnsReportText(report))
  if (!report.published) throw new Fault(unpublishedText(report))
}

const dispatch = async (context: Context, [noun, verb, ...rest]: string[]): Promise<void> => {
  switch ([noun, verb].join(' ').trim()) {
    case 'dns':
      return checkDns(context)
    case 'org create':
      return createOrg(context)
    case 'org suspend':
      return suspend(context, orgIdOf(rest[0]))
    case 'org unsuspend':
      return unsuspend(context, orgIdOf(rest[0]))
    case 'org status':
      return orgStatus(context, orgIdOf(rest[0]))
    case 'org list':
      return orgList(context)
    case 'org plan':
      return changePlan(context, orgIdOf(rest[0]), rest[1])
    case 'org sms-geo':
      return changeSmsGeo(context, orgIdOf(rest[0]), rest[1])
    case 'key create':
      return createKey(context, orgIdOf(rest[0]))
    case 'key list':
      return listKeysOf(context, orgIdOf(rest[0]))
    case 'key revoke':
      return revokeKeyOf(context, orgIdOf(rest[0]), rest[1])
    case 'dlt set':
      return setDltStatus(context, orgIdOf(rest[0]), rest[1])
    case 'audit verify':
      return verifyAudit(context, context.options.all ? undefined : orgIdOf(rest[0]))
    case 'audit head':
      return keepHead(context, rest[0] === undefined ? undefined : orgIdOf(rest[0]))
    case 'audit export':
      return exportAudit(context, orgIdOf(rest[0]))
    case 'audit trust':
      return trustAudit(context, orgIdOf(rest[0]))
    default:
      throw new Fault(`Unknown command.\n\n${opsUsage}`)
  }
}

const parse = (args: string[]): { positionals: string[]; values: Options } => {
  const string = { type: 'string' } as const
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        all: { type: 'boolean' },
        name: string,
        plan: string,
        owner: string,
        reason: string,
        operator: string,
        rate: string,
        email: string,
        sms: string,
        environment: string,
        scopes: string,
        witness: string,
        head: string,
        'created-after': string,
        address: string,
        limit: string,
        cursor: string,
        status: string,
        'template-id': string,
      },
    })
  } catch (error) {
    throw new Fault(`${(error as Error).message}\n\n${opsUsage}`)
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
