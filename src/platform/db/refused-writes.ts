import { sqlState } from './faults.ts'

/** The writes of this process that the server refused because it has no room, or because of its disk. */
export interface RefusedWrites {
  /** Called with every error of a statement. */
  note(error: unknown): void
  /** How many there were since the process started. */
  total(): number
  /** Whether there were any after the last probe that succeeded. */
  any(): boolean
  /** A probe succeeded that began after so many refused writes. */
  settle(total: number): void
}

/** Disk full, out of memory or another resource, error of the disk. Too many connections is no refusal of a write. */
const refuses = (state: string): boolean => /^(53|58)/.test(state) && state !== '53300'

export const makeRefusedWrites = (): RefusedWrites => {
  let total = 0
  let settled = 0
  return {
    note: (error) => {
      if (refuses(sqlState(error) ?? '')) total++
    },
    total: () => total,
    any: () => total > settled,
    settle: (before) => {
      settled = Math.max(settled, before)
    },
  }
}
