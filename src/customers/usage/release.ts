import { makeBatcher } from '../../platform/db/batch.ts'
import type { Db, Runner } from '../../platform/db/pool.ts'
import { counterColumns, type Line, type Spend } from './lines.ts'
import { releaseUsage } from './store.ts'

/** A message of a stored reservation. `left` is what the message still uses; without it, nothing. */
type StoredPart = {
  orgId: string
  id: string
  claim: string | null
  messageId: string
  left?: Omit<Spend, 'orgId'> | undefined
}

export type Release = { lines: Line[]; stored?: StoredPart | undefined }

export const releaseAllWith = async (runner: Pick<Runner, 'change'>, releases: Release[]): Promise<void> => {
  const lines = releases.flatMap((release, i) => release.lines.map((line) => ({ ...line, n: i + 1 })))
  const stored = releases.map((release) => release.stored)
  await runner.change(releaseUsage, {
    storedOrgs: stored.map((part) => part?.orgId ?? null),
    ids: stored.map((part) => part?.id ?? null),
    claims: stored.map((part) => part?.claim ?? null),
    messageIds: stored.map((part) => part?.messageId ?? null),
    left: stored.map((part) => (part?.left ? JSON.stringify(part.left) : null)),
    lineRelease: lines.map((line) => line.n),
    orgIds: lines.map((line) => line.orgId),
    ...counterColumns(lines),
    amounts: lines.map((line) => line.amount),
  })
}

export const makeRelease = ({ db }: { db: Db }): ((release: Release) => Promise<void>) => {
  let unstored = 0
  const releases = makeBatcher<Release, void>({
    name: 'usage.release',
    // A statement changes a stored reservation only once.
    caller: ({ stored }) => (stored ? `${stored.orgId} ${stored.id}` : String(unstored++)),
    onePerCaller: true,
    run: async (batch) => {
      await releaseAllWith(db, batch)
      return batch.map(() => undefined)
    },
  })
  return async (release) => {
    if (release.lines.length > 0) await releases.submit(release)
  }
}
