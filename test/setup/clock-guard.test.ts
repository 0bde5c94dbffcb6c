import { afterEach, expect, test, vi } from 'vitest'
import type { TestService } from '../service/service.ts'
import { sharedOr } from '../service/shared-service.ts'

afterEach(() => void vi.useRealTimers())

test('a file that stops the clock leaves the shared service to no other file', async () => {
  const running = await sharedOr(async () => ({ url: 'of an earlier file' }) as TestService)
  expect(await sharedOr(async () => ({ url: 'unused' }) as TestService)).toBe(running)
  vi.useFakeTimers()
  vi.useRealTimers()
  const next = await sharedOr(async () => ({ url: 'new' }) as TestService)
  expect(next.url).toBe('new')
  vi.useFakeTimers()
})
