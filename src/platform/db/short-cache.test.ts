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
  const keep = (key: string, orgId: string, value: string) => cache.keep(key, orgId, value, cache.mark())
  return { cache, keep }
}

test('an entry is returned until it is five seconds old', () => {
  const { cache, keep } = make()
  keep('k', 'org_1', 'value')
  vi.advanceTimersByTime(4_999)
  expect(cache.get('k')).toBe('value')
  vi.advanceTimersByTime(1)
  expect(cache.get('k')).toBeUndefined()
  expect(cache.get('never kept')).toBeUndefined()
})

test('an entry that is kept again gets a new lifetime', () => {
  const { cache, keep } = make({ ttlMs: 100 })
  keep('k', 'org_1', 'old')
  vi.advanceTimersByTime(90)
  keep('k', 'org_1', 'new')
  vi.advanceTimersByTime(90)
  expect(cache.get('k')).toBe('new')
})

describe('a change', () => {
  test('of an org drops the entries of that org only', () => {
    const { cache, keep } = make()
    keep('a', 'org_1', 'one')
    keep('b', 'org_1', 'two')
    keep('c', 'org_2', 'three')
    cache.forgetOrg('org_1')
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, undefined, 'three'])
  })

  test('during a read prevents its value from being cached, because it may be outdated', () => {
    for (const change of ['forgetOrg', 'clear'] as const) {
      const { cache } = make()
      const mark = cache.mark()
      cache[change]('org_1')
      cache.keep('k', 'org_1', 'before', mark)
      expect(cache.get('k')).toBeUndefined()
      cache.keep('k', 'org_1', 'after', cache.mark())
      expect(cache.get('k')).toBe('after')
    }
  })

  test('of everything drops all entries', () => {
    const { cache, keep } = make()
    keep('a', 'org_1', 'one')
    keep('b', 'org_2', 'two')
    cache.clear()
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined])
  })
})

test('when the cache is full, the oldest entry is dropped', () => {
  const { cache, keep } = make({ max: 3 })
  for (const key of ['a', 'b', 'c', 'd']) keep(key, 'org_1', key)
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([undefined, 'b', 'c', 'd'])
})

test('an entry that is kept again drops no other entry and counts as new', () => {
  const { cache, keep } = make({ max: 2 })
  keep('a', 'org_1', 'a')
  keep('b', 'org_1', 'b')
  keep('b', 'org_1', 'b again')
  expect([cache.get('a'), cache.get('b')]).toEqual(['a', 'b again'])
  keep('a', 'org_1', 'a again')
  keep('c', 'org_1', 'c')
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['a again', undefined, 'c'])
})

describe('while change notifications do not arrive', () => {
  test('entries are neither used nor kept, and old ones are not used afterwards', () => {
    let trusted = true
    const { cache, keep } = make({ trusted: () => trusted })
    keep('a', 'org_1', 'one')
    trusted = false
    expect(cache.get('a')).toBeUndefined()
    keep('b', 'org_1', 'two')
    trusted = true
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined])
  })
})

test('concurrent calls share one read, and a call after a change starts a new one', async () => {
  const cache = makeShortCache<number>({ trusted: () => true })
  let reads = 0
  const resolvers: ((value: number) => void)[] = []
  const read = () =>
    new Promise<number>((resolve) => {
      reads++
      resolvers.push(resolve)
    })
  const first = Promise.all([cache.through('a', 'org', read), cache.through('a', 'org', read)])
  expect(reads).toBe(1)
  cache.forgetOrg('org')
  const later = cache.through('a', 'org', read)
  expect(reads).toBe(2)
  resolvers[0]?.(1)
  resolvers[1]?.(2)
  expect(await first).toEqual([1, 1])
  expect(await later).toBe(2)
  // Only the value that was read after the change is cached.
  expect(cache.get('a')).toBe(2)
})

test('a failed read rejects every waiting call, and the next call reads again', async () => {
  const cache = makeShortCache<number>({ trusted: () => true })
  const broken = () => Promise.reject(new Error('connection lost'))
  const both = await Promise.allSettled([cache.through('a', 'org', broken), cache.through('a', 'org', broken)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await cache.through('a', 'org', async () => 3)).toBe(3)
})
