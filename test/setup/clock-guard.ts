/** The files of a worker share its clock. One that leaves it stopped would make a later file wait for ever. */
import { afterAll, vi } from 'vitest'
import { forgetShared } from '../service/shared-service.ts'

const useFakeTimers = vi.useFakeTimers

// A running service that sets a timer on a stopped clock loses it: it would never again say that it lives.
vi.useFakeTimers = (config) => {
  forgetShared()
  return useFakeTimers(config)
}

afterAll(() => {
  const isStopped = vi.isFakeTimers()
  vi.useRealTimers()
  vi.useFakeTimers = useFakeTimers
  if (isStopped) throw new Error('this file leaves fake timers to the next one. Call vi.useRealTimers() in afterEach.')
})
