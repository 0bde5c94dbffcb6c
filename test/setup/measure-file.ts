/** Notes in the result of each file how much processor time it took. `report-time.ts` prints it. */
import { afterAll } from 'vitest'
import { ownSeconds } from './processor-time.ts'

declare module 'vitest' {
  interface TaskMeta {
    processorSeconds?: number
  }
}

const before = ownSeconds()

// biome-ignore lint/correctness/noEmptyPattern: the runner reads which fixtures a hook wants from its first parameter
afterAll(({}, file) => {
  file.meta.processorSeconds = ownSeconds() - before
})
