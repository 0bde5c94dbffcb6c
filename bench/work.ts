/** A contender that is not a server: a separate Node process that does the work and measures it. */
import { type Contender, type Resources, startServer, watchMemory } from './harness.ts'
import type { FromWork } from './servers/work.ts'

export type WorkSpec = {
  name: string
  /** A program that calls `workBench`. */
  program: URL
  /** Plain data that is passed to the program. */
  params: (resources: Resources) => Promise<object>
  /** Node flags of the program. */
  flags?: string[]
  /** How many items one unit processes, if more than one. Results count items. */
  weight?: number
}

export const workContender = ({ name, program, params, flags, weight = 1 }: WorkSpec): Contender => ({
  name,
  async start(resources) {
    const child = await startServer<object>(name, program, await params(resources), flags)
    return {
      async take(turn) {
        const memory = watchMemory(child.pid)
        try {
          const answer = await child.request<FromWork>(turn)
          if ('failed' in answer) throw new Error(answer.failed)
          if ('skipped' in answer.done) return answer.done
          const perSecond = answer.done.perSecond * weight
          return { ...answer.done, perSecond, rssMb: await memory.peakMb() }
        } finally {
          memory.stop()
        }
      },
      stop: child.stop,
    }
  },
})
