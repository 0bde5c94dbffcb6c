/**
 * Archives the audit entries of an org and a day before retention deletes them: one file with all of them, written once.
 * The next run may find the file of an earlier one that was interrupted, when some of the entries are gone already. Then
 * the file stays, provided that it has all entries that are left.
 */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import type { Db } from '../../platform/db/pool.ts'
import { dayMs } from '../../platform/ground/units.ts'
import type { ObjectStore } from '../../providers/objects/object-store.ts'
import type { EntryRow } from './store/entry-rows.ts'
import { entriesOfDay } from './store/prune-rows.ts'

const page = 1_000

/** The UTC day of a time, such as `2026-03-05`. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Throws if the entries of the day are not all in the archive. */
export type ArchiveDay = (orgId: string, day: string) => Promise<void>

export const makeArchiveDay = ({ db, store }: { db: Db; store: ObjectStore }): ArchiveDay => {
  async function* entries(orgId: string, day: string): AsyncGenerator<EntryRow> {
    const from = new Date(`${day}T00:00:00.000Z`)
    const to = new Date(from.getTime() + dayMs)
    let after = { afterAt: from, afterId: '' }
    for (;;) {
      const rows = await db.rows(entriesOfDay, { orgId, to, ...after, limit: page })
      yield* rows
      const last = rows.at(-1)
      if (!last || rows.length < page) return
      after = { afterAt: last.created_at, afterId: last.id }
    }
  }

  async function* lines(orgId: string, day: string): AsyncGenerator<string> {
    for await (const row of entries(orgId, day)) yield `${JSON.stringify(row)}\n`
  }

  const compressed = (orgId: string, day: string): AsyncIterable<Buffer> => {
    const gzip = createGzip()
    const source = Readable.from(lines(orgId, day))
    source.on('error', (error) => gzip.destroy(error))
    return source.pipe(gzip)
  }

  /** Both are in the same order, so the file is read once and never held. */
  const assertHasAll = async (name: string, orgId: string, day: string): Promise<void> => {
    const file = await store.read(name)
    if (!file) throw new Error('the archive cannot be read')
    const gunzip = createGunzip()
    file.on('error', (error) => gunzip.destroy(error))
    const failed = new Promise<never>((_, reject) => gunzip.on('error', reject))
    failed.catch(() => undefined)
    const left = entries(orgId, day)
    let next = await left.next()
    // Opened last, because it does not keep lines that nobody waits for.
    const archived = createInterface({ input: file.pipe(gunzip), crlfDelay: Number.POSITIVE_INFINITY })
    const compare = async (): Promise<void> => {
      for await (const line of archived) {
        if (next.done) break
        if (JSON.parse(line).id === next.value.id) next = await left.next()
      }
    }
    try {
      await Promise.race([compare(), failed])
      if (!next.done) throw new Error('there is another archive of this day, which lacks entries')
    } finally {
      file.destroy()
      await left.return(undefined)
    }
  }

  return async (orgId, day) => {
    const name = `audit/${orgId}/${day}.ndjson.gz`
    if (!(await store.write(name, compressed(orgId, day)))) await assertHasAll(name, orgId, day)
  }
}
