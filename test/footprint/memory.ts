/** The resident memory of the processes of a service, as Linux reports it. */
import { readFile } from 'node:fs/promises'
import { processesOf } from '../start/launched.ts'

/** Megabytes by name. */
export type Memory = Record<string, number>

const nameOf = (title: string): string => {
  if (title.startsWith('postgres') || /\/postgres(\0|$)/.test(title)) return 'PostgreSQL'
  if (/tidings\.(js|mjs)/.test(title)) return 'service'
  return title.split(/[\0 ]/).slice(0, 2).join(' ')
}

const kilobytes = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0)

/**
 * The memory of every process of a data folder. PostgreSQL is one row: its processes share most of their memory, so each
 * counts with its share (PSS). Of several processes with one name, the largest counts.
 */
export const memoryOf = async (dataDir: string): Promise<Memory> => {
  const memory: Memory = {}
  for (const pid of await processesOf(dataDir)) {
    const name = nameOf(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
    if (name === 'PostgreSQL') {
      const shares = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
      memory[name] = (memory[name] ?? 0) + kilobytes(shares, 'Pss') / 1_024
    } else {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      memory[name] = Math.max(memory[name] ?? 0, kilobytes(status, 'VmRSS') / 1_024)
    }
  }
  return memory
}

/** Samples until it is stopped, and returns the highest value of each. */
export const watchPeaks = (dataDir: string) => {
  const peaks: Memory = {}
  let ended = false
  const sample = async () => {
    for (const [name, mb] of Object.entries(await memoryOf(dataDir))) peaks[name] = Math.max(peaks[name] ?? 0, mb)
  }
  const sampling = (async () => {
    while (!ended) {
      await sample()
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  })()
  return async (): Promise<Memory> => {
    ended = true
    await sampling
    return peaks
  }
}
