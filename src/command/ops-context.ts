/** What all operator commands share: their options, their output, and the org that they are about. */
import type { Audit } from '../audit/append.ts'
import type { Chain } from '../audit/chain.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { Config } from '../ground/config/config.ts'
import { isId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { findOrg, type OrgRow } from '../orgs/store.ts'
import { Fault } from './command-fault.ts'

export const opsUsage = `tidings ops org create --name <name> [--plan <plan>] [--owner <email>] [--json]
tidings ops org suspend <org_id> --reason <text> --operator <name>
tidings ops org unsuspend <org_id> --operator <name>
tidings ops org status <org_id> [--json]
tidings ops org plan <org_id> <plan> [--rate <per minute>] [--email <monthly>] [--sms <monthly>] [--json]
tidings ops org sms-geo <org_id> <US,GB|none|any> --operator <name> [--json]
tidings ops dns [--address <public address>] [--json]
tidings ops audit verify <org_id>|--all [--witness <file>] [--head <head>] [--created-after <time>] [--json]
tidings ops audit head [<org_id>] [--json]
tidings ops audit trust <org_id> --operator <name> [--json]
tidings ops key create <org_id> [--environment live|test] [--name <name>] [--scopes <a,b>] [--json]`

export type Options = Record<string, string | boolean | undefined>
export type Context = {
  db: Db
  clock: Clock
  log: Log
  audit: Audit
  chain: Chain
  config: Config
  options: Options
  out: Out
}

/** Receives the output of a command: standard output, or a test. */
export type Out = (text: string) => void

export const print = ({ options, out }: Context, value: unknown, text: string): void => {
  out(`${options.json ? JSON.stringify(value) : text.trimEnd()}\n`)
}

export const optionText = (options: Options, name: string): string | undefined => {
  const value = options[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

export const required = (options: Options, name: string): string => {
  const value = optionText(options, name)
  if (value === undefined) throw new Fault(`--${name} is required.\n\n${opsUsage}`)
  return value
}

export const orgIdOf = (value: string | undefined): string => {
  if (value === undefined || !isId('org', value)) throw new Fault(`An org id (org_…) is required.\n\n${opsUsage}`)
  return value
}

export const existing = async (db: Db, orgId: string): Promise<OrgRow> => {
  const org = await db.row(findOrg, { orgId })
  if (!org) throw new Fault(`Org ${orgId} does not exist.`)
  return org
}

export const asLines = (value: Record<string, unknown>): string =>
  Object.entries(value)
    .map(([name, shown]) => `${name.padEnd(18)} ${shown ?? 'none'}`)
    .join('\n')
