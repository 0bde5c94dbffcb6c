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
}

export const workContender = ({ name, program, params, flags }: WorkSpec): Contender => ({
  name,
  async start(ground) {
    const child = await startServer<object>(name, program, await params(ground), flags)
    return {
      async take(turn) {
        const memory = watchMemory(child.pid)
        try {
          const answer = await child.ask<FromWork>(turn)
          if ('failed' in answer) throw new Error(answer.failed)
          return 'skipped' in answer.done ? answer.done : { ...answer.done, rssMb: await memory.peakMb() }
        } finally {
          memory.stop()
        }
      },
      stop: child.stop,
    }
  },
})
