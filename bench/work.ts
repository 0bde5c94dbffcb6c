/** A contender that is no server: a Node process of its own that does the work it is asked for and measures it. */
import { type Contender, type Ground, startServer, watchMemory } from './harness.ts'
import type { FromWork } from './servers/work.ts'

export type WorkSpec = {
  name: string
  /** A program that calls `workBench`. */
  program: URL
  /** Plain data handed to the program. */
  params: (ground: Ground) => Promise<object>
  /** Flags of Node the program runs under. */
  flags?: string[]
  /** How many things one unit does, where it is more than one: what is counted is them. */
  weight?: number
}

export const workContender = ({ name, program, params, flags, weight = 1 }: WorkSpec): Contender => ({
  name,
  async start(ground) {
    const child = await startServer<object>(name, program, await params(ground), flags)
    return {
      async take(turn) {
        const memory = watchMemory(child.pid)
        try {
          const answer = await child.ask<FromWork>(turn)
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
