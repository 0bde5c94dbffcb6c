import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cheapPassphrases } from '../../../test/service/cheap-passphrase.ts'
import { tidings } from '../../../test/service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { makeChain } from '../../journal/audit/chain.ts'
import { openDb } from '../../platform/db/pool.ts'
import { systemClock } from '../../platform/ground/clock.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { backupCommand, restoreCommand } from './backup-commands.ts'

cheapPassphrases()

let folder: string
let source: TestDatabase
let plain: string
let files = 0

const masterKey = randomBytes(32).toString('base64')
const fileName = () => join(folder, `${++files}.backup`)

const envOf = (database: TestDatabase, env: Record<string, string> = {}) => ({
  DATABASE_URL: database.url,
  DATA_DIR: folder,
  MASTER_KEY: masterKey,
  ...env,
})

const emptyDatabase = async (): Promise<TestDatabase> => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  return database
}

const backUpTo = async (file: string, options: string[] = [], env: Record<string, string> = {}): Promise<string> => {
  const printed: string[] = []
  const config = readConfig(envOf(source, env))
  await backupCommand(config, silentLog(), [file, ...options], (text) => printed.push(text))
  return printed.join('\n')
}

const restoreTo = async (database: TestDatabase, args: string[], env: Record<string, string> = {}): Promise<string> => {
  const printed: string[] = []
  await restoreCommand(readConfig(envOf(database, env)), silentLog(), args, (text) => printed.push(text))
  return printed.join('\n')
}

const tablesIn = (database: TestDatabase) => database.sql(`select tablename from pg_tables where schemaname = 'public'`)

const secretFile = async (text: string): Promise<string> => {
  const file = join(folder, `${++files}.secret`)
  await writeFile(file, text, { mode: 0o600 })
  return file
}

const flippedCopy = async (at: number): Promise<string> => {
  const bytes = await readFile(plain)
  const position = at < 0 ? bytes.length + at : at
  bytes[position] = bytes[position]! ^ 1
  const file = fileName()
  await writeFile(file, bytes)
  return file
}

const addOrg = async (database: TestDatabase, id: string): Promise<void> => {
  const at = '2026-01-15T10:00:00.000Z'
  await database.sql(
    `insert into orgs (id, name, slug, plan, created_at, updated_at) values ($1, 'Acme', $1, 'pro', $2, $2)`,
    [id, at],
  )
  await database.sql(
    `insert into audit_entries (org_id, id, action, created_at, user_agent)
     select $1, entry_id, 'org.updated', $2, '' from unnest($3::text[]) entry_id`,
    [id, at, Array.from({ length: 3 }, () => newId('auditEntry', Date.parse(at)))],
  )
  await database.sql(
    `insert into audit_unlinked (org_id, created_at, entry_id)
     select org_id, created_at, id from audit_entries where org_id = $1`,
    [id],
  )
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-backup-secrets-'))
  source = await makeTestDatabase()
  await addOrg(source, 'org_a')
  await addOrg(source, 'org_b')
  const db = openDb({ url: source.url, log: silentLog(), poolSize: 1 })
  await makeChain({
    db,
    clock: systemClock,
    log: silentLog(),
    secrets: [],
    cutover: new Date('2026-08-10T00:00:00Z'),
  }).link()
  await db.close()
  plain = fileName()
  await backUpTo(plain)
})

afterAll(async () => {
  await source.drop()
  await rm(folder, { recursive: true, force: true })
})

const refused = (reason: string) =>
  `The backup is not authenticated: ${reason}. Nothing was restored. To restore it anyway, add --allow-unauthenticated.`

describe('restore exits with 1 and restores nothing', () => {
  test('when a byte of the file was changed or its end is missing', async () => {
    const database = await emptyDatabase()
    const cut = fileName()
    await writeFile(cut, (await readFile(plain)).subarray(0, -1))
    const attempts: [string, string][] = [
      [await flippedCopy(100), refused('it was changed or damaged, because its authentication code is wrong')],
      [await flippedCopy(-1), refused('it was changed or damaged, because its authentication code is wrong')],
      [await flippedCopy(0), 'This file is not a Tidings backup.'],
      [cut, refused('it is truncated')],
    ]
    for (const [file, message] of attempts) {
      await expect(restoreTo(database, [file])).rejects.toThrow(new OperatorFault(message))
    }
    const [[changed, message] = ['', '']] = attempts
    expect(await tidings(['restore', changed], envOf(database))).toEqual({
      code: 1,
      stdout: '',
      stderr: `${message}\n`,
    })
    expect(await tablesIn(database)).toEqual([])
  })

  test('with another master key, or without one, and generates none', async () => {
    const database = await emptyDatabase()
    const id = (await readFile(plain, 'latin1')).split(' ')[2]
    const other = envOf(database, { MASTER_KEY: randomBytes(32).toString('base64') })
    expect(await tidings(['restore', plain], other)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${refused(`it was made with the master key ${id}, which is not configured`)}\n`,
    })
    const keyFile = join(folder, 'master.key')
    const without = { DATABASE_URL: database.url, DATA_DIR: folder }
    expect(await tidings(['restore', plain], without)).toEqual({
      code: 1,
      stdout: '',
      stderr: `There is no master key: MASTER_KEY is not set and ${keyFile} does not exist. It is needed to verify the backup. Run this command with the environment of the service.\n`,
    })
    await expect(backupCommand(readConfig(without), silentLog(), [fileName()])).rejects.toThrow(
      /^There is no master key: .* It is needed to authenticate the backup\./,
    )
    expect(existsSync(keyFile)).toBe(false)
    expect(await tablesIn(database)).toEqual([])
  })

  test('with the wrong identity or the wrong passphrase', async () => {
    const database = await emptyDatabase()
    const recipient = await identityToRecipient(await generateIdentity())
    const toRecipient = fileName()
    expect(await backUpTo(toRecipient, ['--encrypt-to', recipient])).toMatch(/ \(\d+\.\d MB, encrypted\)\.$/m)
    const identity = await secretFile(await generateIdentity())
    expect(await tidings(['restore', toRecipient, '--identity', identity], envOf(database))).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The backup cannot be decrypted with this identity.\n',
    })
    const withPassphrase = fileName()
    await backUpTo(withPassphrase, [], { BACKUP_PASSPHRASE: 'a passphrase of the operator' })
    const env = envOf(database, { BACKUP_PASSPHRASE: 'another passphrase of ours' })
    expect(await tidings(['restore', withPassphrase], env)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The backup cannot be decrypted: the passphrase is wrong.\n',
    })
    expect(await tablesIn(database)).toEqual([])
  })
})

describe('an encrypted backup', () => {
  test('is restored with the identity of its recipient, in the format of age-keygen', async () => {
    const identity = await generateIdentity()
    const recipient = await identityToRecipient(identity)
    const file = fileName()
    await backUpTo(file, [
      '--encrypt-to',
      recipient,
      '--encrypt-to',
      await identityToRecipient(await generateIdentity()),
    ])
    expect(existsSync(`${file}.partial`)).toBe(false)
    expect((await readFile(file, 'latin1')).includes('org_a')).toBe(false)
    const database = await emptyDatabase()
    const key = await secretFile(`# created: 2026-11-16\n# public key: ${recipient}\n${identity}\n`)
    expect(await restoreTo(database, [file, '--identity', key])).toMatch(/^Restored \d+ rows from \d+ tables\./)
    expect(await database.sql('select id from orgs order by id')).toEqual([{ id: 'org_a' }, { id: 'org_b' }])
  })

  test('is restored with the passphrase in a file, whose last line end does not count', async () => {
    const file = fileName()
    const passphrase = await secretFile('a passphrase of the operator\n')
    await backUpTo(file, ['--passphrase-file', passphrase])
    const database = await emptyDatabase()
    await restoreTo(database, [file], { BACKUP_PASSPHRASE: 'a passphrase of the operator' })
    expect(await database.sql('select id from orgs order by id')).toEqual([{ id: 'org_a' }, { id: 'org_b' }])
  })

  test('is not written with an invalid recipient, two kinds of secrets or a short passphrase', async () => {
    const recipient = await identityToRecipient(await generateIdentity())
    const short = await secretFile('short\n')
    const large = await secretFile('x'.repeat(70_000))
    const attempts: [string[], string][] = [
      [['--encrypt-to', 'age1nobody'], '--encrypt-to must be an age recipient, such as age1….'],
      [['--encrypt-to', recipient, '--passphrase-file', short], 'Use either --encrypt-to or --passphrase-file.'],
      [['--passphrase-file', short], `The passphrase in ${short} must have 12 to 1024 characters.`],
      [['--passphrase-file', large], `${large} is too large for a secret.`],
      [Array.from({ length: 21 }, () => `--encrypt-to=${recipient}`), '--encrypt-to can be given at most 20 times.'],
    ]
    const file = fileName()
    for (const [options, message] of attempts)
      await expect(backUpTo(file, options)).rejects.toThrow(new OperatorFault(message))
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false])
    const notIdentity = await secretFile('AGE-SECRET-KEY-1NOT\n')
    await expect(restoreTo(source, [plain, '--identity', notIdentity])).rejects.toThrow(
      new OperatorFault(`${notIdentity} does not contain an age identity, such as AGE-SECRET-KEY-1….`),
    )
  })
})

test('an unauthenticated backup that is restored anyway is recorded in the audit log of every org', async () => {
  const database = await emptyDatabase()
  const env = envOf(database, { MASTER_KEY: randomBytes(32).toString('base64') })
  const id = (await readFile(plain, 'latin1')).split(' ')[2]
  const reason = `it was made with the master key ${id}, which is not configured`
  const { code, stdout, stderr } = await tidings(['restore', plain, '--allow-unauthenticated'], env)
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toMatch(/^Restored \d+ rows from \d+ tables\./)
  expect(stderr).toContain(`The backup is not authenticated: ${reason}. The audit log of every org says so.\n`)
  expect(
    await database.sql(
      `select org_id, actor_user_id, action, resource_type, resource_id, metadata, user_agent, signature
       from audit_entries where action <> 'org.updated' order by org_id`,
    ),
  ).toEqual(
    ['org_a', 'org_b'].map((org) => ({
      org_id: org,
      actor_user_id: null,
      action: 'org.restored',
      resource_type: 'org',
      resource_id: org,
      metadata: { authenticated: false, reason, via: 'system', taken_at: expect.stringMatching(/^20\S+Z$/) },
      user_agent: '',
      signature: null,
    })),
  )
})

test('an authenticated backup is restored without an entry, even with the override', async () => {
  const database = await emptyDatabase()
  expect(await restoreTo(database, [plain, '--allow-unauthenticated'])).not.toContain('not authenticated')
  expect(await database.sql(`select 1 from audit_entries where action = 'org.restored'`)).toEqual([])
})

test('restore exits with 1 when an audit chain of the backup is not intact, and names the org', async () => {
  const tampered = await makeTestDatabase('empty')
  onTestFinished(tampered.drop)
  await restoreTo(tampered, [plain])
  await tampered.sql('alter table audit_entries disable trigger all')
  await tampered.sql(`delete from audit_entries where id = (select min(id) from audit_entries where org_id = 'org_b')`)
  await tampered.sql('alter table audit_entries enable trigger all')
  const file = fileName()
  await backupCommand(readConfig(envOf(tampered)), silentLog(), [file], () => undefined)
  const database = await emptyDatabase()
  const { code, stdout, stderr } = await tidings(['restore', file], envOf(database))
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr.split('\n').slice(1)).toEqual([
    'The backup was restored, but the audit chain of 1 org(s) is not intact: org_b. Run `tidings ops audit verify <org_id>` for the details.',
    '',
  ])
})
