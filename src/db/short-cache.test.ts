import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeShortCache } from './short-cache.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const make = (options: { ttlMs?: number; max?: number; trusted?: () => boolean } = {}) => {
  const cache = makeShortCache<string>({ trusted: () => true, ...options })
  const read = (key: string, orgId: string, value: string) => cache.keep(key, orgId, value, cache.mark())
  return { cache, read }
}

test('a copy is given until it is five seconds old, and not after', () => {
  const { cache, read } = make()
  read('k', 'org_1', 'value')
  vi.advanceTimersByTime(4_999)
  expect(cache.get('k')).toBe('value')
  vi.advanceTimersByTime(1)
  expect(cache.get('k')).toBeUndefined()
  expect(cache.get('never kept')).toBeUndefined()
})

test('a copy read again lives on from then', () => {
  const { cache, read } = make({ ttlMs: 100 })
  read('k', 'org_1', 'old')
  vi.advanceTimersByTime(90)
  read('k', 'org_1', 'new')
  vi.advanceTimersByTime(90)
  expect(cache.get('k')).toBe('new')
})

describe('a change', () => {
  test('of an org drops its copies and no others', () => {
    const { cache, read } = make()
    read('a', 'org_1', 'one')
    read('b', 'org_1', 'two')
    read('c', 'org_2', 'three')
    cache.forgetOrg('org_1')
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, undefined, 'three'])
  })

  test('while a row is being read keeps its copy out, since it may be the row from before', () => {
    for (const change of ['forgetOrg', 'clear'] as const) {
      const { cache } = make()
      const mark = cache.mark()
      cache[change]('org_1')
      cache.keep('k', 'org_1', 'from before', mark)
      expect(cache.get('k')).toBeUndefined()
      cache.keep('k', 'org_1', 'from after', cache.mark())
      expect(cache.get('k')).toBe('from after')
    }
  })

  test('of everything drops all', () => {
    const { cache, read } = make()
    read('a', 'org_1', 'one')
    read('b', 'org_2', 'two')
    cache.clear()
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined])
  })
})

test('past the most it may hold, the copy held longest makes room', () => {
  const { cache, read } = make({ max: 3 })
  for (const key of ['a', 'b', 'c', 'd']) read(key, 'org_1', key)
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([undefined, 'b', 'c', 'd'])
})

test('a copy read again takes no other copy away, and counts as new', () => {
  const { cache, read } = make({ max: 2 })
  read('a', 'org_1', 'a')
  read('b', 'org_1', 'b')
  read('b', 'org_1', 'b again')
  expect([cache.get('a'), cache.get('b')]).toEqual(['a', 'b again'])
  read('a', 'org_1', 'a again')
  read('c', 'org_1', 'c')
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['a again', undefined, 'c'])
})

describe('while changes cannot be heard', () => {
  test('copies are neither used nor kept, nor used again once they can be', () => {
    let trusted = true
    const { cache, read } = make({ trusted: () => trusted })
    read('a', 'org_1', 'one')
    trusted = false
    expect(cache.get('a')).toBeUndefined()
    read('b', 'org_1', 'two')
    trusted = true
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined])
  })
})

test('callers that ask at once share one read; one that asks after a change has its own', async () => {
  const cache = makeShortCache<number>({ trusted: () => true })
  let reads = 0
  const answers: ((value: number) => void)[] = []
  const read = () =>
    new Promise<number>((resolve) => {
      reads++
      answers.push(resolve)
    })
  const first = Promise.all([cache.through('a', 'org', read), cache.through('a', 'org', read)])
  expect(reads).toBe(1)
  cache.forgetOrg('org')
  const later = cache.through('a', 'org', read)
  expect(reads).toBe(2)
  answers[0]?.(1)
  answers[1]?.(2)
  expect(await first).toEqual([1, 1])
  expect(await later).toBe(2)
  // What was read before the change is not kept; what was read after it is.
  expect(cache.get('a')).toBe(2)
})

test('a read that fails is told to all who wait for it and is tried again by the next', async () => {
  const cache = makeShortCache<number>({ trusted: () => true })
  const broken = () => Promise.reject(new Error('away'))
  const both = await Promise.allSettled([cache.through('a', 'org', broken), cache.through('a', 'org', broken)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await cache.through('a', 'org', async () => 3)).toBe(3)
})
