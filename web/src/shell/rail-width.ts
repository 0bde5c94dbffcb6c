/** Whether the rail shows icons only. Stored in this browser. */
import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let narrow = localStorage.getItem('rail') === 'narrow'

export const setRailNarrow = (now: boolean): void => {
  narrow = now
  if (now) localStorage.setItem('rail', 'narrow')
  else localStorage.removeItem('rail')
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useRailNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow)
