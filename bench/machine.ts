/** How much of the machine was not ours while something was measured. */
import { readdirSync, readFileSync } from 'node:fs'

/** Processor time in ticks, since the start of the machine. */
export type Ticks = {
  all: number
  idle: number
  /** Taken by other machines on the same host. */
  stolen: number
  /** Spent by this process and the processes that descend from it. */
  own: number
}

export type Process = { pid: number; parent: number; ticks: number }

/** The first line of /proc/stat. */
export const readStat = (text: string): Omit<Ticks, 'own'> => {
  const times = (text.split('\n', 1)[0] as string).trim().split(/\s+/).slice(1, 9).map(Number)
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = times
  return { all: times.reduce((sum, time) => sum + time, 0), idle: idle + waiting, stolen }
}

/** The line of /proc/<pid>/stat. Includes the time of children that have ended. The name may contain anything. */
export const readProcess = (text: string): Process => {
  const [, parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = rest.slice(9, 13).reduce((sum, time) => sum + Number(time), 0)
  return { pid: Number.parseInt(text, 10), parent: Number(parent), ticks }
}

/** The ticks of a process and of its descendants. */
export const ticksOfTree = (root: number, processes: readonly Process[]): number => {
  const children = Map.groupBy(processes, ({ parent }) => parent)
  const of = ({ pid, ticks }: Process): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + of(child), ticks)
  return processes.filter(({ pid }) => pid === root).reduce((sum, process) => sum + of(process), 0)
}

const readText = (path: string): string[] => {
  try {
    return [readFileSync(path, 'utf8')]
  } catch {
    // The process has ended.
    return []
  }
}

/** Undefined on systems without /proc. */
const readTicks = (): Ticks | undefined => {
  const [stat] = readText('/proc/stat')
  if (stat === undefined) return undefined
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const processes = pids.flatMap((pid) => readText(`/proc/${pid}/stat`).map(readProcess))
  return { ...readStat(stat), own: ticksOfTree(process.pid, processes) }
}

/** Shares of a tenth and more distort the figures. */
export const notesBetween = (before: Ticks, after: Ticks): string[] => {
  const spent = (name: keyof Ticks): number => after[name] - before[name]
  const stolen = spent('stolen') / spent('all')
  const others = (spent('all') - spent('idle') - spent('stolen') - spent('own')) / spent('all')
  const note = (share: number, who: string): string[] =>
    share < 0.1 ? [] : [`${who} used ${(share * 100).toFixed(0)} % of the processors: run it again when it is quiet`]
  return [...note(others, 'other programs'), ...note(stolen, 'other machines on the same host')]
}

/** Watches from now on. The notes are about the time until they are asked for. */
export const watchMachine = (): (() => string[]) => {
  const before = readTicks()
  return () => {
    const after = readTicks()
    return before && after ? notesBetween(before, after) : []
  }
}
