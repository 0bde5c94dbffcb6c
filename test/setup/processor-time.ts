/** The processor time of processes, which says more than their duration on a machine that does other work as well. */
import { readFileSync } from 'node:fs'

/** Fields of /proc/<pid>/stat after the name of the program, which may contain spaces. Undefined where there is no /proc. */
const statOf = (pid: number | 'self'): number[] | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
  } catch {
    return undefined
  }
}

const ticksPerSecond = 100

/** Seconds of the processes that this one started and that have ended. */
const ofChildren = (pid: number | 'self'): number => {
  const [user = 0, system = 0] = statOf(pid)?.slice(13, 15) ?? []
  return (user + system) / ticksPerSecond
}

/** Seconds of this process and of the processes that it started and that have ended. */
export const ownSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + ofChildren('self')
}

/**
 * Seconds of a PostgreSQL server on this machine: of its connections that have ended, which are children of the process
 * that started the given one.
 */
export const serverSeconds = (backendPid: number): number => {
  const parent = statOf(backendPid)?.[1]
  return parent === undefined ? 0 : ofChildren(parent)
}
