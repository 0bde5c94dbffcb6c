import { describe, expect, test } from 'vitest'
import type { TestDatabase } from '../../test/service/database.ts'
import { catalogueOf } from '../../test/service/schema.ts'
import { backUpToFile } from './backup.ts'
import {
  connectTo,
  contentsOf,
  empty,
  expectEmptySchema,
  fileName,
  fileSource,
  known,
  later,
  migrated,
  needsOf,
  restoreInto,
  testMigration,
  withStrange,
} from './harness.ts'
import { restore } from './restore.ts'

describe('restore refuses', () => {
  const backupOf = async (database: TestDatabase): Promise<string> => {
    const file = fileName()
    await backUpToFile(needsOf(database), file)
    return file
  }

  test('a database in which a table has rows, and names it', async () => {
    const source = await migrated(known)
    const file = await backupOf(source)
    const target = await migrated(known)
    await target.sql(`insert into settings values ('mine', '1', '2026-01-01')`)
    const before = [await contentsOf(target), await catalogueOf(target)]
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The database is not empty: table settings has rows. A backup is restored only into an empty one.',
    )
    expect([await contentsOf(target), await catalogueOf(target)]).toEqual(before)
  })

  test('a database that somebody is writing to', async () => {
    const file = await backupOf(await migrated(known))
    const target = await migrated(known)
    const writer = await connectTo(target)()
    await writer.query(`begin; insert into settings values ('soon', '1', '2026-01-01')`)
    const refused = expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The database is not empty: table settings has rows.',
    )
    await expect
      .poll(() =>
        target.sql(
          `select 1 from pg_locks join pg_database d on d.oid = database
           where not granted and mode = 'AccessExclusiveLock' and datname = current_database()`,
        ),
      )
      .not.toEqual([])
    await writer.query('commit')
    await refused
    await writer.end()
  })

  test('a database of something else', async () => {
    const file = await backupOf(await migrated(known))
    const target = await empty()
    await target.sql('create table orgs (name text)')
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The database has a table orgs that is not of Tidings: restore into a database of its own.',
    )
  })

  test('a backup of a newer version, with both versions named', async () => {
    const file = await backupOf(await migrated(withStrange))
    const target = await empty()
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The backup was taken by version 1.2.3, whose schema (9001_strange) is newer than that of this version (1.2.3): restore it with 1.2.3 or newer.',
    )
    await expectEmptySchema(target)
  })

  test('a backup whose history is not ours', async () => {
    const file = await backupOf(
      await migrated([...known, testMigration('9001_strange', 'create table kinds (id int)')]),
    )
    const target = await empty()
    await expect(restoreInto(target, fileSource(file))).rejects.toThrow(
      'Migration 9001_strange of the backup (version 1.2.3) differs from 9001_strange of this version (1.2.3).',
    )
    const newer = await migrated([...withStrange, later])
    const older = await backupOf(await migrated(known))
    await expect(restoreInto(newer, fileSource(older), known)).rejects.toThrow(
      'The database cannot be restored into: the database has migration 9001_strange, which this version does not know',
    )
  })

  test('a table somebody added by hand, until it is made in the new database too', async () => {
    const source = await migrated(known)
    await source.sql('create table by_hand (id int, note text)')
    await source.sql(`insert into by_hand values (1, 'kept')`)
    const file = await backupOf(source)
    const target = await migrated(known)
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The backup holds a table by_hand (id, note), which Tidings does not make: make it by hand in the database first.',
    )
    await target.sql('create table by_hand (id int, note text)')
    await restoreInto(target, fileSource(file), known)
    expect(await target.sql('select * from by_hand')).toEqual([{ id: 1, note: 'kept' }])
  })
})

test('a restore called off in the middle leaves the database as it was', async () => {
  const source = await migrated(known)
  await source.sql(`insert into settings select 's' || i, to_jsonb(md5(i::text)), '2026-01-01'
    from generate_series(1, 20000) i`)
  const file = fileName()
  await backUpToFile(needsOf(source), file)
  for (const moment of ['checking', 'bytes', 'table', 'building indexes']) {
    const target = await empty()
    const stop = new AbortController()
    const reach = (what: string) => {
      if (what.startsWith(moment)) stop.abort()
    }
    const progress = { bytes: () => reach('bytes'), table: () => reach('table'), stage: reach }
    const restoring = restore(
      { ...needsOf(target), migrations: known, progress, signal: stop.signal },
      fileSource(file),
    )
    await expect(restoring, moment).rejects.toThrow()
    await expectEmptySchema(target)
  }
})
