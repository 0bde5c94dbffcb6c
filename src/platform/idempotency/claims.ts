/**
 * One effect per Idempotency-Key. A request claims its key first and records its response afterwards. Later requests
 * with the same key get that response until the key expires.
 */
import { makeBatcher } from '../db/batch.ts'
import { lostConnection } from '../db/faults.ts'
import { inChunks } from '../db/in-chunks.ts'
import { retryOnOutage } from '../db/outage.ts'
import type { Db, Runner, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sha256 } from '../ground/crypto.ts'
import { Failure } from '../ground/errors.ts'
import { derivedId, type IdKind, newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Scope } from '../ground/scope.ts'
import type { LiveProcesses } from './live-processes.ts'
import {
  type ClaimRow,
  claimKeys,
  freeInterruptedKey,
  freeKey,
  freeUnusedKey,
  lockClaimedKey,
  recordProvisionalResponse,
  recordResponses,
  sweepKeys,
} from './store.ts'

/** How long a request may hold its key: longer than any request takes, so that a running one never loses it. */
export const lockSeconds = 330

export type IdempotencyClaim = {
  scope: Scope
  key: string
  id: string
  /** The ids of what the request creates are derived from this one: its own id, or that of the first interrupted one. */
  firstId: string
  /**
   * An earlier request with this key and content ended without a response, such as by a crash. What it created has the
   * ids that this request derives. False again once this request knows what that one did.
   */
  interrupted: boolean
  /** False once another process may have taken the key over. Nothing must be sent under it then. */
  isHeld(): boolean
  /** Whether no later request has claimed the key. It stays so until the transaction ends. */
  isLast(tx: Pick<Tx, 'row'>): Promise<boolean>
}
export type ReplayedResponse = { status: number; body: string }

/** Nothing is sent under a key that another process may have taken over. */
export const assertHeld = (claim: IdempotencyClaim | undefined): void => {
  if (claim && !claim.isHeld()) throw new Failure('UNAVAILABLE', { retryAfter: 1 })
}

/** Which of the things that a request creates: the item of a batch at that index. */
export type RequestPlace = { claim: IdempotencyClaim | undefined; index?: number }

/** The id of the n-th thing of its kind that a request creates: the same in each request after an interrupted one. */
export const claimedId = (kind: IdKind, claim: IdempotencyClaim | undefined, clock: Clock, n = 0): string =>
  claim ? derivedId(kind, claim.firstId, n) : newId(kind, clock.millis())

/** The caller of a request: what it can reach, and the restrictions of its API key. */
export type ClaimingCaller = Scope & { allowedDomainIds: readonly string[] | null }

const unrestricted = Buffer.alloc(0)

const bindingsOf = ({ projectId, allowedDomainIds }: ClaimingCaller): Buffer => {
  if (projectId === null && allowedDomainIds === null) return unrestricted
  return sha256(JSON.stringify([projectId, allowedDomainIds && [...new Set(allowedDomainIds)].sort()]))
}

/**
 * A restricted key must not learn the result of a request that it could not make itself. Keys with the same restrictions
 * share their results, so that a retry survives a rotation. A key without restrictions could make every request.
 */
const maySee = (own: Buffer, recorded: Buffer | null): boolean =>
  recorded === null || own.length === 0 || own.equals(recorded)

type ClaimRequest = { scope: Scope; key: string; fingerprint: Buffer; bindings: Buffer; id: string }
/** `process` is the name of this process in the claim. */
type ClaimResult = ClaimRow & { process: string }
type RecordedResponse = { claim: IdempotencyClaim; status: number; body: string }

type Needs = {
  db: Db
  clock: Clock
  log: Log
  ttlHours: number
  production: boolean
  processes: Pick<LiveProcesses, 'name' | 'gone' | 'isTrusted' | 'sweep'>
}

const heldBy = ({
  scope: { orgId, tenantId, environment },
  key,
  id,
}: Pick<IdempotencyClaim, 'scope' | 'key' | 'id'>) => ({
  orgId,
  tenantId,
  environment,
  key,
  claim: id,
})

export const makeIdempotency = ({ db, clock, log, ttlHours, production, processes }: Needs) => {
  const expiry = (): Date => new Date(clock.millis() + ttlHours * 3_600_000)
  const nameOf = ({ scope, key }: { scope: Scope; key: string }): string =>
    `${scope.orgId} ${scope.tenantId ?? ''} ${scope.environment} ${key}`

  const claims = makeBatcher<ClaimRequest, ClaimResult>({
    name: 'idempotency.claim',
    run: async (requests) => {
      const now = clock.now()
      const process = processes.name()
      const rows = await db.rows(claimKeys, {
        orgIds: requests.map((request) => request.scope.orgId),
        tenantIds: requests.map((request) => request.scope.tenantId),
        environments: requests.map((request) => request.scope.environment),
        keys: requests.map((request) => request.key),
        fingerprints: requests.map((request) => request.fingerprint),
        bindings: requests.map((request) => request.bindings),
        claims: requests.map((request) => request.id),
        process,
        goneProcesses: processes.gone(),
        now,
        lockedUntil: new Date(now.getTime() + lockSeconds * 1000),
        expiresAt: expiry(),
      })
      return rows.sort((a, b) => a.ordinal - b.ordinal).map((row) => ({ ...row, process }))
    },
    // A statement cannot claim one key twice. Run one after the other, the second claim sees the first.
    caller: nameOf,
    onePerCaller: true,
  })

  /** A claim whose answer was lost may be stored, and would keep the key locked for as long as this process lives. */
  const freeLost = (claim: Pick<IdempotencyClaim, 'scope' | 'key' | 'id'>): void => {
    const freed = retryOnOutage(() => db.change(freeUnusedKey, { ...heldBy(claim), now: clock.now() }))
    void freed.catch((error: unknown) => log.error({ err: error }, 'releasing an idempotency key failed'))
  }

  const write = (runner: Runner, responses: RecordedResponse[]): Promise<number> =>
    runner.change(recordResponses, {
      orgIds: responses.map((response) => response.claim.scope.orgId),
      tenantIds: responses.map((response) => response.claim.scope.tenantId),
      environments: responses.map((response) => response.claim.scope.environment),
      keys: responses.map((response) => response.claim.key),
      claims: responses.map((response) => response.claim.id),
      statuses: responses.map((response) => response.status),
      bodies: responses.map((response) => response.body),
      expiresAt: expiry(),
    })

  const records = makeBatcher<RecordedResponse, void>({
    name: 'idempotency.record',
    run: async (responses) => {
      await write(db, responses)
      return responses.map(() => undefined)
    },
  })

  return {
    /** A claim, or the response recorded earlier. Undefined when the database is down: the request runs unclaimed. */
    claim: async (
      caller: ClaimingCaller,
      key: string,
      fingerprint: Buffer,
    ): Promise<{ claim: IdempotencyClaim } | { replay: ReplayedResponse } | undefined> => {
      const bindings = bindingsOf(caller)
      const id = newId('request', clock.millis())
      let result: ClaimResult
      try {
        result = await claims.submit({ scope: caller, key, fingerprint, bindings, id })
      } catch (error) {
        if (!lostConnection(error)) throw error
        freeLost({ scope: caller, key, id })
        // Sending twice is worse than making the caller retry.
        if (production) throw new Failure('IDEMPOTENCY_IN_FLIGHT', { cause: error, retryAfter: 5 })
        log.warn({ err: error }, 'idempotency claim skipped: database unavailable')
        return undefined
      }
      if (result.claimed) {
        const { first_claim: first, process } = result
        const isHeld = () => processes.isTrusted(process)
        const { orgId, tenantId, environment } = caller
        const isLast: IdempotencyClaim['isLast'] = async (tx) =>
          ((await tx.row(lockClaimedKey, { orgId, tenantId, environment, key }))?.claim ?? id) === id
        return { claim: { scope: caller, key, id, firstId: first ?? id, interrupted: first !== null, isHeld, isLast } }
      }
      if (!result.fingerprint.equals(fingerprint) || !maySee(bindings, result.bindings))
        throw new Failure('IDEMPOTENCY_MISMATCH')
      if (result.locked || result.status === null) {
        throw new Failure('IDEMPOTENCY_IN_FLIGHT', { retryAfter: 1 })
      }
      return { replay: { status: result.status, body: result.body ?? '' } }
    },
    /** Records responses in the transaction of the work, so that both commit or neither does. */
    recordWith: async (runner: Runner, responses: RecordedResponse[]): Promise<void> => {
      if (responses.length > 0) await write(runner, responses)
    },
    /**
     * Records the response of a request that may be cut off from here on. The key stays locked until the request records
     * its real response, or its lock expires. Returns false if the request no longer holds the key.
     */
    recordProvisional: async (runner: Runner, { claim, status, body }: RecordedResponse): Promise<boolean> => {
      const lockedUntil = new Date(clock.millis() + lockSeconds * 1000)
      const held = { ...heldBy(claim), status, body, lockedUntil, expiresAt: expiry() }
      return (await runner.change(recordProvisionalResponse, held)) > 0
    },
    record: (claim: IdempotencyClaim, status: number, body: string): Promise<void> =>
      records.submit({ claim, status, body }),
    free: async (claim: IdempotencyClaim): Promise<void> => {
      if (claim.interrupted) await db.change(freeInterruptedKey, { ...heldBy(claim), now: clock.now() })
      else await db.change(freeKey, heldBy(claim))
    },
    /** Deletes expired keys in chunks. Returns how many were deleted. */
    sweep: async (): Promise<number> => {
      await processes.sweep()
      const chunk = 1_000
      return inChunks(chunk, () => db.change(sweepKeys, { now: clock.now(), limit: chunk }))
    },
  }
}

export type Idempotency = ReturnType<typeof makeIdempotency>
