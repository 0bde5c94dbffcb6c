/** Marks of writes that the primary keeps for all its processes. */
import { makeMemoryMarks, type WriteMarks } from '../replica/write-marks.ts'
import type { ProcessWire } from './process-wire.ts'

const [wroteKind, ageKind] = ['wrote', 'age-of-write']

export const keepMarksForProcesses = (): ((wire: ProcessWire) => void) => {
  const marks = makeMemoryMarks()
  return (wire) => {
    wire.on(wroteKind, (subjects: string[]) => {
      marks.wrote(subjects)
      return true
    })
    // JSON has no infinity.
    wire.on(ageKind, async (subjects: string[]) => {
      const age = (await marks.age(subjects)) as number
      return { age: Number.isFinite(age) ? age : -1 }
    })
  }
}

/** The marks of a child process. The primary is on the same machine, and a child process ends with it. */
export const makeSharedMarks = (wire: Pick<ProcessWire, 'ask'>): WriteMarks => ({
  wrote: async (subjects) => {
    await wire.ask(wroteKind, subjects)
  },
  age: async (subjects) => {
    const answer = await wire.ask<{ age: number }>(ageKind, subjects)
    if (!answer) return null
    return answer.age < 0 ? Number.POSITIVE_INFINITY : answer.age
  },
  close: async () => undefined,
})
