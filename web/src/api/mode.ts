/** Live or test. Lists show one of them at a time, and what is created belongs to it. */
import { useSyncExternalStore } from 'react'
import { queryClient } from './query-client.ts'

export type Mode = 'live' | 'test'

const listeners = new Set<() => void>()
const given = new URLSearchParams(location.search).get('mode') ?? localStorage.getItem('mode')
let mode: Mode = given === 'test' ? 'test' : 'live'

export const setMode = (now: Mode): void => {
  mode = now
  localStorage.setItem('mode', now)
  for (const listener of listeners) listener()
  void queryClient.invalidateQueries()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useMode = (): Mode => useSyncExternalStore(subscribe, () => mode)
