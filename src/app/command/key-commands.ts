/** `tidings ops key …`: creating, listing and revoking the API keys of an org. */
import { scopes } from '../../customers/keys/scopes.ts'
import { type KeyRow, listKeys, lockKey, revokeKey } from '../../customers/keys/store.ts'
import { shownKey } from '../../interfaces/http/shown-resources.ts'
import { isId } from '../../platform/ground/ids.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { issueKey } from '../operator/create-org.ts'
import { type Context, existing, optionText, pageOfOptions, print, printPage, required } from './ops-context.ts'
import { opsUsage } from './usage.ts'

export const createKey = async (context: Context, orgId: string): Promise<void> => {
  const { db, clock, audit, options } = context
  await existing(db, orgId)
  const environment = optionText(options, 'environment') ?? 'live'
  if (environment !== 'live' && environment !== 'test') throw new OperatorFault('--environment must be live or test.')
  const requested = optionText(options, 'scopes')
    ?.split(',')
    .map((name) => name.trim()) ?? [...scopes]
  const unknown = requested.filter((name) => !(scopes as readonly string[]).includes(name))
  if (unknown.length > 0) throw new OperatorFault(`Unknown scope: ${unknown.join(', ')}.`)
  const name = (optionText(options, 'name') ?? 'API key').slice(0, 100)
  const key = await db.tx(async (tx) => {
    const issued = await issueKey(tx, { orgId, name, environment, scopes: requested, at: clock.now() })
    const entry = {
      orgId,
      actor: { kind: 'system' },
      resourceType: 'api_key',
      resourceId: issued.id,
    } as const
    await audit(tx, { ...entry, action: 'api_key.created', metadata: { name, environment, scopes: requested } })
    return issued
  })
  print(context, { ...key, environment }, `${key.id}  ${key.key}\nSave this key: it is shown only once.`)
}

const stateAt = ({ revoked_at, expires_at }: KeyRow, at: Date): string => {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= at ? 'expired' : 'active'
}

export const listKeysOf = async (context: Context, orgId: string): Promise<void> => {
  const { db, clock } = context
  await existing(db, orgId)
  const { keyset, limit } = pageOfOptions(context)
  const all = { tenantId: null, projectId: null, environment: null, revokedSince: new Date(0) }
  const rows = await db.rows(listKeys, { orgId, ...all, ...keyset })
  const at = clock.now()
  printPage(context, {
    rows,
    limit,
    show: (row) => ({ ...shownKey(row), state: stateAt(row, at) }),
    line: (row) => [
      row.id,
      `${row.prefix}…${row.last_four}`,
      stateAt(row, at),
      row.last_used_at === null ? 'never used' : row.last_used_at.toISOString(),
      row.name,
    ],
  })
}

export const revokeKeyOf = async (context: Context, orgId: string, keyId: string | undefined): Promise<void> => {
  const { db, clock, audit, options } = context
  if (keyId === undefined || !isId('key', keyId))
    throw new OperatorFault(`A key id (key_…) is required.\n\n${opsUsage}`)
  const operator = required(options, 'operator')
  await existing(db, orgId)
  const { row, revokedAt, changed } = await db.tx(async (tx) => {
    const found = await tx.row(lockKey, { orgId, id: keyId })
    if (!found) throw new OperatorFault(`Key ${keyId} does not exist in org ${orgId}.`)
    const revoked = await tx.row(revokeKey, { orgId, id: keyId, at: clock.now() })
    if (!revoked) return { row: found, revokedAt: found.revoked_at as Date, changed: false }
    await audit(tx, {
      orgId,
      actor: { kind: 'system' },
      action: 'api_key.revoked',
      resourceType: 'api_key',
      resourceId: keyId,
      metadata: { name: found.name, environment: found.environment, operator },
    })
    return { row: found, revokedAt: revoked.revoked_at, changed: true }
  })
  const since = revokedAt.toISOString()
  const text = changed ? `${keyId} is now revoked.` : `${keyId} has already been revoked since ${since}.`
  print(context, shownKey({ ...row, revoked_at: revokedAt }), text)
}
