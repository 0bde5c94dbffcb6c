import { sqlState } from './faults.ts'

/** Disk full, out of memory or another resource, error of the disk. Too many connections is no refusal of a write. */
const refuses = (state: string): boolean => /^(53|58)/.test(state) && state !== '53300'

/** The writes of this process that the server refused because it has no room, or because of its disk. */
export const makeRefusedWrites = () => {
  let total = 0
  let settled = 0
  return {
    /** Called with every error of a statement. */
    note: (error: unknown): void => {
      if (refuses(sqlState(error) ?? '')) total++
    },
    /** How many there were since the process started. */
    total: (): number => total,
    /** Whether there were any after the last probe that succeeded. */
    any: (): boolean => total > settled,
    /** A probe succeeded that began after so many refused writes. */
    settle: (before: number): void => {
      settled = Math.max(settled, before)
    },
  }
}

export type RefusedWrites = ReturnType<typeof makeRefusedWrites>
