import { describe, expect, test } from 'vitest'
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
} from '../../../test/service/backups.ts'
import type { TestDatabase } from '../../../test/service/database.ts'
import { catalogueOf } from '../../../test/service/schema.ts'
import { backUpToFile } from './backup.ts'
import { restore } from './restore.ts'

describe('restore rejects', () => {
  const backupOf = async (database: TestDatabase): Promise<string> => {
    const file = fileName()
    await backUpToFile(needsOf(database), file)
    return file
  }

  test('a database with rows, and reports the table', async () => {
    const source = await migrated(known)
    const file = await backupOf(source)
    const target = await migrated(known)
    await target.sql(`insert into settings values ('mine', '1', '2026-01-01')`)
    const before = [await contentsOf(target), await catalogueOf(target)]
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The database is not empty: table settings has rows. A backup can be restored only into an empty database.',
    )
    expect([await contentsOf(target), await catalogueOf(target)]).toEqual(before)
  })

  test('a database to which another connection is writing', async () => {
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

  test('a database with tables of another program', async () => {
    const file = await backupOf(await migrated(known))
    const target = await empty()
    await target.sql('create table orgs (name text)')
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The database has a table orgs that does not belong to Tidings. Restore into a separate database.',
    )
  })

  test('a backup of a newer version, and reports both versions', async () => {
    const file = await backupOf(await migrated(withStrange))
    const target = await empty()
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The backup was taken by version 1.2.3. Its schema (9001_strange) is newer than the schema of this version (1.2.3). Restore it with version 1.2.3 or newer.',
    )
    await expectEmptySchema(target)
  })

  test('a backup with other migrations', async () => {
    const file = await backupOf(
      await migrated([...known, testMigration('9001_strange', 'create table kinds (id int)')]),
    )
    const target = await empty()
    await expect(restoreInto(target, fileSource(file))).rejects.toThrow(
      'Migration 9001_strange of the backup (version 1.2.3) differs from migration 9001_strange of this version (1.2.3).',
    )
    const newer = await migrated([...withStrange, later])
    const older = await backupOf(await migrated(known))
    await expect(restoreInto(newer, fileSource(older), known)).rejects.toThrow(
      'The backup cannot be restored into this database: the database has migration 9001_strange, which this version does not know',
    )
  })

  test('a table that was added by hand, unless the new database has it too', async () => {
    const source = await migrated(known)
    await source.sql('create table by_hand (id int, note text)')
    await source.sql(`insert into by_hand values (1, 'kept')`)
    const file = await backupOf(source)
    const target = await migrated(known)
    await expect(restoreInto(target, fileSource(file), known)).rejects.toThrow(
      'The backup contains a table by_hand (id, note) that does not belong to Tidings. Create it in the database first.',
    )
    await target.sql('create table by_hand (id int, note text)')
    await restoreInto(target, fileSource(file), known)
    expect(await target.sql('select id, note from by_hand')).toEqual([{ id: 1, note: 'kept' }])
  })
})

test('an aborted restore does not change the database', async () => {
  const source = await migrated(known)
  await source.sql(`insert into settings select 's' || i, to_jsonb(md5(i::text)), '2026-01-01'
    from generate_series(1, 20000) i`)
  const file = fileName()
  await backUpToFile(needsOf(source), file)
  for (const stage of ['verifying', 'bytes', 'table', 'building indexes']) {
    const target = await empty()
    const stop = new AbortController()
    const abortAt = (reached: string) => {
      if (reached.startsWith(stage)) stop.abort()
    }
    const progress = { bytes: () => abortAt('bytes'), table: () => abortAt('table'), stage: abortAt }
    const restoring = restore(
      { ...needsOf(target), migrations: known, progress, signal: stop.signal },
      fileSource(file),
    )
    await expect(restoring, stage).rejects.toThrow()
    await expectEmptySchema(target)
  }
})
