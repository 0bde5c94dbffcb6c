/** The files of a worker share its clock. One that leaves it stopped would make a later file wait for ever. */
import { afterAll, vi } from 'vitest'

afterAll(() => {
  const isStopped = vi.isFakeTimers()
  vi.useRealTimers()
  if (isStopped) throw new Error('this file leaves fake timers to the next one. Call vi.useRealTimers() in afterEach.')
})
