/** Whether the service can be reached. The shell shows a strip while it cannot. */
import { useSyncExternalStore } from 'react'

let reachable = true
const listeners = new Set<() => void>()

export const setReachable = (now: boolean): void => {
  if (now === reachable) return
  reachable = now
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useReachable = (): boolean => useSyncExternalStore(subscribe, () => reachable)
