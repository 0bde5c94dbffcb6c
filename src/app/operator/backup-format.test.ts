import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { constants, createGzip, gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  contentOf,
  empty,
  expectEmptySchema,
  fileName,
  fileSource,
  known,
  needsOf,
  pipeSource,
  restoreInto,
} from '../../../test/service/backups.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { backUpToFile } from './backup.ts'
import { endOfRows, type Part, readBackup } from './backup-format.ts'

/** The content without a seal, as earlier versions wrote it. */
const allowed = { allowUnauthenticated: true }

describe('an incomplete or manipulated backup', () => {
  let whole: Buffer
  let source: TestDatabase

  const readAll = async (bytes: Buffer): Promise<string> => {
    const parts: Part[] = []
    for await (const part of readBackup(Readable.from([bytes]))) parts.push(part)
    return JSON.stringify(parts)
  }

  beforeAll(async () => {
    source = await makeTestDatabase()
    await source.sql(
      `insert into settings select 's' || i, to_jsonb(md5(i::text)), '2026-01-01' from generate_series(1, 50) i`,
    )
    const file = fileName()
    await backUpToFile(needsOf(source), file)
    whole = await contentOf(file)
  })

  afterAll(() => source.drop())

  test('is rejected wherever it is truncated', async () => {
    for (let length = 0; length < whole.length; length += 7) {
      await expect(readAll(whole.subarray(0, length)), `${length} bytes`).rejects.toThrow(OperatorFault)
    }
    await expect(readAll(whole.subarray(0, -1))).rejects.toThrow('The backup is truncated')
    await expect(readAll(whole.subarray(0, 1_500))).rejects.toThrow('The backup is truncated')
  })

  test('is rejected or read correctly, whichever byte is changed', async () => {
    const expected = await readAll(whole)
    for (let at = 0; at < whole.length; at += 5) {
      const changed = Buffer.from(whole)
      changed[at] = changed[at]! ^ 0x10
      const read = await readAll(changed).catch((error) => error)
      if (read instanceof Error) expect(read, `byte ${at}`).toBeInstanceOf(OperatorFault)
      else expect(read, `byte ${at}`).toBe(expected)
    }
  })

  const lines = () => gunzipSync(whole).toString().split('\n')
  const compressed = (texts: string[]) => gzipSync(texts.join('\n'))
  const headerWith = (change: object) => {
    const [header = '', ...rest] = lines()
    return compressed([JSON.stringify({ ...JSON.parse(header), ...change }), ...rest])
  }

  test('is rejected when its content was changed and compressed again', async () => {
    const text = gunzipSync(whole).toString()
    expect(text).toContain('\ns7\t')
    await expect(readAll(gzipSync(text.replace('\ns7\t', '\ns8\t')))).rejects.toThrow(
      'The backup is damaged: its content does not match its checksum.',
    )
    await expect(readAll(gzipSync(`${text}\n`))).rejects.toThrow('it continues after its trailer')
    await expect(readAll(Buffer.concat([whole, whole]))).rejects.toThrow('it continues after its trailer')
    await expect(readAll(compressed(lines().slice(0, -2)))).rejects.toThrow('The backup is truncated')
    await expect(readAll(compressed(lines().filter((line) => line !== '{"table":"orgs"}')))).rejects.toThrow(
      'table orgs is not where it should be',
    )
  })

  test('is rejected when it is another kind of file', async () => {
    const others: [string, Buffer][] = [
      ['text', Buffer.from('-- PostgreSQL database dump\n')],
      ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
      ['compressed text', gzipSync('hello\nworld\n')],
      ['compressed JSON', gzipSync('{"name":"tidings"}\n')],
      ['compressed bytes', gzipSync(Buffer.alloc(20_000_000))],
      ['an empty gzip file', gzipSync('')],
    ]
    for (const [kind, bytes] of others) {
      await expect(readAll(bytes), kind).rejects.toThrow('This file is not a Tidings backup.')
    }
  })

  test('is rejected when its format is newer or its header is invalid', async () => {
    await expect(readAll(headerWith({ tidings_backup: 2 }))).rejects.toThrow(
      'The backup has format 2, but this version reads formats up to 1. Restore it with a newer version.',
    )
    await expect(readAll(headerWith({ migrations: [] }))).rejects.toThrow('its header is invalid')
  })

  test('is rejected when a partition bound or key contains other SQL', async () => {
    for (const bound of [
      `FOR VALUES FROM (pg_read_file('/etc/passwd')) TO (MAXVALUE)`,
      `DEFAULT; drop table orgs`,
      `FOR VALUES IN ('a'); drop table orgs --')`,
      `FOR VALUES IN ('\\')`,
    ]) {
      const partitions = [{ name: 'p', parent: 'orgs', bound, by: null }]
      await expect(readAll(headerWith({ partitions })), bound).rejects.toThrow('its header is invalid')
    }
    const by = [{ name: 'p', parent: 'orgs', bound: 'DEFAULT', by: 'RANGE (pg_sleep(1))' }]
    await expect(readAll(headerWith({ partitions: by }))).rejects.toThrow('its header is invalid')
  })

  test('does not change the database, whether it is read from a file or a pipe', async () => {
    const truncated = fileName()
    await writeFile(truncated, whole.subarray(0, -20))
    const text = gunzipSync(whole).toString()
    const tampered = gzipSync(text.replace('\ns7\t', '\ns8\t'))
    const target = await empty()
    await expect(restoreInto(target, fileSource(truncated), known, allowed)).rejects.toThrow('The backup is truncated')
    await expect(restoreInto(target, pipeSource(whole.subarray(0, -20)), known, allowed)).rejects.toThrow(
      'The backup is truncated',
    )
    await expect(restoreInto(target, pipeSource(tampered), known, allowed)).rejects.toThrow(/duplicate key|checksum/)
    await expect(restoreInto(target, pipeSource(Buffer.from('no')), known, allowed)).rejects.toThrow(
      'not a Tidings backup',
    )
    await expectEmptySchema(target)
    await restoreInto(target, pipeSource(whole), known, allowed)
    expect(await target.sql('select count(*)::int as count from settings')).toEqual([{ count: 50 }])
  })

  test('does not change the database when its rows violate a constraint', async () => {
    const text = gunzipSync(whole).toString()
    const orphan =
      '{"table":"sessions"}\nses_1\tusr_nobody\t\\\\x00\t0\tpassword\t\\N\t\t2026-01-01\t2026-01-01\t2026-01-01\t\\N\t\\N\n'
    const changed = text.replace('{"table":"sessions"}\n', orphan).replace('"sessions":0', '"sessions":1')
    const body = changed.slice(0, changed.lastIndexOf('\n{"rows"') + 1)
    const trailer = JSON.parse(changed.slice(body.length))
    trailer.sha256 = createHash('sha256').update(body).digest('hex')
    const target = await empty()
    await expect(
      restoreInto(target, pipeSource(gzipSync(`${body}${JSON.stringify(trailer)}\n`)), known, allowed),
    ).rejects.toMatchObject({ code: '23503' })
    await expectEmptySchema(target)
    trailer.rows.sessions = 2
    await expect(
      restoreInto(target, pipeSource(gzipSync(`${body}${JSON.stringify(trailer)}\n`)), known, allowed),
    ).rejects.toThrow('Table sessions has 2 rows in the backup, but 1 were loaded.')
    await expectEmptySchema(target)
  })
})

test('rows are read correctly however the stream is split into chunks', async () => {
  const piece = fc.constantFrom('\\.', '\\', '.', '\n', 'a', '\\\\.', '\\N\t', 'longer text')
  const row = fc
    .array(piece, { maxLength: 8 })
    .map((parts) => parts.join('').replaceAll('\n', '\\n'))
    .filter((text) => text !== '\\.')
  const header = {
    tidings_backup: 1,
    service_version: '1',
    taken_at: '2026-01-01T00:00:00.000Z',
    migrations: [{ name: '0001', checksum: 'x' }],
    partitions: [],
    sequences: [],
  }
  const compressedInChunks = async (text: Buffer, cuts: number[]): Promise<Buffer[]> => {
    const gzip = createGzip()
    const out: Buffer[] = []
    gzip.on('data', (chunk) => out.push(chunk))
    const ends = [...new Set(cuts.map((cut) => cut % text.length))].sort((a, b) => a - b)
    let from = 0
    for (const end of [...ends, text.length]) {
      gzip.write(text.subarray(from, end))
      from = end
      await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve))
    }
    gzip.end()
    await once(gzip, 'end')
    return out
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(row, { maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 30, size: 'max' }),
      async (tables, cuts) => {
        const named = tables.map((rows, i) => ({
          name: `t${i}`,
          text: rows.map((text) => `${text}\n`).join(''),
        }))
        const body = Buffer.from(
          `${JSON.stringify({ ...header, tables: named.map(({ name }) => ({ name, columns: ['a'] })) })}\n${named
            .map(({ name, text }) => `${JSON.stringify({ table: name })}\n${text}${endOfRows}`)
            .join('')}`,
        )
        const sha256 = createHash('sha256').update(body).digest('hex')
        const counts = Object.fromEntries(tables.map((rows, i) => [`t${i}`, rows.length]))
        const whole = Buffer.concat([body, Buffer.from(`${JSON.stringify({ rows: counts, sha256 })}\n`)])
        const read: Record<string, string> = {}
        let table = ''
        for await (const part of readBackup(Readable.from(await compressedInChunks(whole, cuts)))) {
          if (part.kind === 'table') {
            table = part.table
            read[table] = ''
          }
          if (part.kind === 'rows') read[table] += part.bytes.toString()
          if (part.kind === 'trailer') expect(part.rows).toEqual(counts)
        }
        expect(read).toEqual(Object.fromEntries(named.map(({ name, text }) => [name, text])))
      },
    ),
    { numRuns: 150 },
  )
})
