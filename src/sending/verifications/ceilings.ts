/**
 * The hourly ceilings on starts, which limit what an attacker can spend on text messages. They are sliding windows in
 * the database, because they must hold over restarts and over all processes, also without Redis.
 */
import { listsOf } from '../../platform/db/lists.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { sha256Hex } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { addStarts, keepStarts } from './store.ts'

const perDestination = 5
const perRateLimitKey = 5
const perOrg = 1_000

export type Ceiling = { orgId: string; environment: Environment; name: string; limit: number }

type Counted = Pick<Ceiling, 'orgId' | 'environment'> & {
  channel: Channel
  /** In its stored form: a lower-case address, or a number in E.164 format. */
  destination: string
  rateLimitKey: string | undefined
}

/** The ceilings of a start, in the order in which they are checked. Live and test mode are counted separately. */
export const ceilingsOf = ({ orgId, environment, channel, destination, rateLimitKey }: Counted): Ceiling[] => {
  const own = { orgId, environment }
  const ceilings = [{ ...own, name: `${channel} ${sha256Hex(destination)}`, limit: perDestination }]
  if (rateLimitKey !== undefined) {
    ceilings.push({ ...own, name: `key ${sha256Hex(rateLimitKey)}`, limit: perRateLimitKey })
  }
  ceilings.push({ ...own, name: 'org', limit: perOrg })
  return ceilings
}

const nameOf = ({ orgId, environment, name }: Omit<Ceiling, 'limit'>): string => `${orgId} ${environment} ${name}`

type Window = Ceiling & { added: number; used: number; oldest: Date }

/** Every window once, with the starts that would be added to it. */
const windowsOf = (starts: Ceiling[][]): Map<string, Window> => {
  const windows = new Map<string, Window>()
  for (const ceiling of starts.flat()) {
    const known = windows.get(nameOf(ceiling))
    if (known) known.added++
    else windows.set(nameOf(ceiling), { ...ceiling, added: 1, used: 0, oldest: new Date(0) })
  }
  return windows
}

/**
 * Counts starts against their ceilings, in order. A start is counted in all its windows, or in none when one of them is
 * full. Returns the error of each refused start. The window is an hour; benchmarks use a shorter one.
 */
export const takeStarts = async (
  tx: Tx,
  starts: Ceiling[][],
  { at, windowMs }: { at: Date; windowMs: number },
): Promise<(Failure | undefined)[]> => {
  if (starts.length === 0) return []
  const windows = windowsOf(starts)
  const all = [...windows.values()]
  const rows = await tx.rows(addStarts, {
    ...listsOf(all, ['orgId', 'environment', 'name', 'added']),
    at,
    since: new Date(at.getTime() - windowMs),
  })
  for (const row of rows) {
    const window = windows.get(`${row.org_id} ${row.environment} ${row.name}`) as Window
    window.used = row.starts - window.added
    window.oldest = row.oldest
  }
  const refusals = starts.map((ceilings) => {
    const own = ceilings.map((ceiling) => windows.get(nameOf(ceiling)) as Window)
    const full = own.find(({ used, limit }) => used >= limit)
    if (full) {
      const retryAfter = (full.oldest.getTime() + windowMs - at.getTime()) / 1000
      return new Failure('RATE_LIMITED', { retryAfter })
    }
    for (const window of own) window.used++
    return undefined
  })
  if (refusals.some((refusal) => refusal !== undefined)) {
    await tx.change(keepStarts, listsOf(all, ['orgId', 'environment', 'name', 'used']))
  }
  return refusals
}
