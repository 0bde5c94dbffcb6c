import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { s3Credentials, startS3Server } from '../../../test/servers/s3.ts'
import { ObjectStoreFault, TooLargeFault } from './object-store.ts'
import { makeS3Store } from './s3-store.ts'

const s3 = await startS3Server()
afterAll(() => s3.close())
beforeEach(() => {
  s3.objects.clear()
  s3.requests.length = 0
})

const storeAt = (prefix: string, changes: Partial<Parameters<typeof makeS3Store>[0]> = {}) => {
  const place = { bucket: 'my-bucket', prefix }
  const store = makeS3Store({ place, region: 'eu-west-1', endpoint: s3.url, credentials: s3Credentials, ...changes })
  onTestFinished(() => store.close())
  return store
}

test('An object is stored under the prefix with the bucket in the path, and is never replaced', async () => {
  const store = storeAt('a/heads/')
  expect(await store.put('one.json', Buffer.from('first'))).toBe(true)
  expect(await store.put('one.json', Buffer.from('second'))).toBe(false)
  expect([...s3.objects]).toEqual([['my-bucket/a/heads/one.json', Buffer.from('first')]])
  expect(s3.requests).toEqual(['PUT /my-bucket/a/heads/one.json', 'PUT /my-bucket/a/heads/one.json'])
})

test('An object is read back whole, unless it is absent or too large', async () => {
  const store = storeAt('a/')
  await store.put('one', Buffer.from([0, 255, 10]))
  await store.put('empty', Buffer.alloc(0))
  expect(await store.get('one', 3)).toEqual(Buffer.from([0, 255, 10]))
  expect(await store.get('empty', 0)).toEqual(Buffer.alloc(0))
  expect(await store.get('two', 3)).toBeUndefined()
  await expect(store.get('one', 2)).rejects.toThrow(TooLargeFault)
})

test('Names are listed in order over all pages, only those with the prefix', async () => {
  const names = ['b', 'a/3', 'a/1', 'a/2', 'a/5', 'a/4', 'ab']
  const whole = storeAt('')
  for (const name of names) await whole.put(name, Buffer.from('x'))
  s3.requests.length = 0
  expect(await Array.fromAsync(storeAt('a/').list())).toEqual(['1', '2', '3', '4', '5'])
  expect(s3.requests).toEqual(Array(3).fill('GET /my-bucket/'))
  expect(await Array.fromAsync(whole.list('a'))).toEqual(['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'ab'])
  expect(await Array.fromAsync(storeAt('none/').list())).toEqual([])
})

test('A store that refuses, or that nobody runs, is a fault after one attempt, without details of the request', async () => {
  s3.failWith = 503
  const store = storeAt('')
  await expect(store.put('a', Buffer.from('x'))).rejects.toThrow(new ObjectStoreFault('SlowDown: because (status 503)'))
  await expect(store.get('a', 9)).rejects.toThrow(ObjectStoreFault)
  await expect(Array.fromAsync(store.list())).rejects.toThrow(ObjectStoreFault)
  s3.failWith = undefined
  expect(s3.requests).toHaveLength(3)
  const wrongKey = storeAt('', { credentials: { accessKeyId: 'OTHER', secretAccessKey: 'x' } })
  const refusal = await wrongKey.put('a', Buffer.from('x')).catch((error: Error) => error)
  expect(refusal).toEqual(new ObjectStoreFault('SignatureDoesNotMatch: because (status 403)'))
  expect(Object.keys(refusal as Error)).toEqual([])
  await expect(storeAt('', { endpoint: 'http://127.0.0.1:9' }).put('a', Buffer.from('x'))).rejects.toThrow(
    /ECONNREFUSED/,
  )
  expect(s3.objects.size).toBe(0)
})
