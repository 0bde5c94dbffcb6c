import { describe, expect, test } from 'vitest'
import type { AuditEntry } from '../../journal/audit/append.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { type ItemOutcome, startChunks } from './batch-chunks.ts'
import type { RecordChunk, Recording } from './record.ts'

type Stored = { ids: string[]; count: unknown; answer: unknown }

const outcome = (id: string, { isSent = true, characters = 0 } = {}): ItemOutcome<string> => ({
  recording: { message: { id, text: 'x'.repeat(characters) } } as unknown as Recording,
  isSent,
  resultOf: (stored) => `${id} ${stored ? 'stored' : 'lost'}`,
})

/** Records chunks in memory. `refuse` names rows that cannot be stored. */
const recorder = (refuse: string[] = []) => {
  const chunks: Stored[] = []
  const record: RecordChunk = async ({ recordings, withThem }) => {
    const ids = recordings.map(({ message }) => message.id)
    const stored = ids.map((id) => !refuse.includes(id))
    const { entry, answer } = withThem(stored)
    chunks.push({ ids, count: entry?.metadata?.count, answer: answer?.body })
    return stored
  }
  return { chunks, record }
}
const entryOf = (count: number) => ({ metadata: { count } }) as unknown as AuditEntry
const lastOf = (results: string[]) => ({ answer: { body: results.join() } as unknown as Recording['answer'] })

describe('the messages of a batch', () => {
  test('that have an outcome soon are stored at once, with one entry and the response', async () => {
    const { chunks, record } = recorder()
    const batch = startChunks<string>({ record, entryOf, log: silentLog(), waitMs: 60_000 })
    for (const id of ['a', 'b', 'c']) batch.add(outcome(id))
    batch.add(outcome('refused', { isSent: false }))
    const results = ['a stored', 'b stored', 'c stored', 'refused stored']
    expect(await batch.finish(lastOf)).toEqual({ results, stored: true })
    expect(chunks).toEqual([{ ids: ['a', 'b', 'c', 'refused'], count: 3, answer: results.join() }])
  })

  test('are stored with an entry of their own when others take long, and the response with the last', async () => {
    const { chunks, record } = recorder()
    const batch = startChunks<string>({ record, entryOf, log: silentLog(), waitMs: 1 })
    batch.add(outcome('a'))
    batch.add(outcome('b'))
    await expect.poll(() => chunks).toEqual([{ ids: ['a', 'b'], count: 2, answer: undefined }])
    batch.add(outcome('c'))
    expect((await batch.finish(lastOf)).results).toEqual(['a stored', 'b stored', 'c stored'])
    expect(chunks[1]).toEqual({ ids: ['c'], count: 1, answer: 'a stored,b stored,c stored' })
  })

  test('that are large are stored in several statements', async () => {
    const { chunks, record } = recorder()
    const batch = startChunks<string>({ record, entryOf, log: silentLog(), waitMs: 60_000 })
    for (const id of ['a', 'b', 'c', 'd', 'e']) batch.add(outcome(id, { characters: 5_000_000 }))
    await batch.finish(lastOf)
    expect(chunks.map(({ ids, count }) => [ids, count])).toEqual([
      [['a', 'b'], 2],
      [['c', 'd'], 2],
      [['e'], 1],
    ])
  })

  test('that cannot be stored are not counted in the entry, and their results say so', async () => {
    const { chunks, record } = recorder(['b'])
    const batch = startChunks<string>({ record, entryOf, log: silentLog(), waitMs: 60_000 })
    for (const id of ['a', 'b']) batch.add(outcome(id))
    expect((await batch.finish(lastOf)).results).toEqual(['a stored', 'b lost'])
    expect(chunks).toEqual([{ ids: ['a', 'b'], count: 1, answer: 'a stored,b lost' }])
  })

  test('of a chunk that fails as a whole are all lost, and the response is not recorded', async () => {
    const record = () => Promise.reject(new Error('no database'))
    const batch = startChunks<string>({ record, entryOf, log: silentLog() })
    batch.add(outcome('a'))
    expect(await batch.finish(lastOf)).toEqual({ results: ['a lost'], stored: false })
  })

  test('that are all refused before the provider leave nothing to store', async () => {
    const { chunks, record } = recorder()
    const batch = startChunks<string>({ record, entryOf, log: silentLog() })
    expect(await batch.finish(lastOf)).toEqual({ results: [], stored: false })
    expect(chunks).toEqual([])
  })
})
