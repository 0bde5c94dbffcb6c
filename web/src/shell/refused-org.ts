/** The organisation that the person wanted to switch to, and that is closed to their session. */
import { useSyncExternalStore } from 'react'
import type { ApiError } from '../api/api-error.ts'

export type RefusedOrg = { id: string; name: string; error: ApiError }

let refused: RefusedOrg | undefined
const listeners = new Set<() => void>()

export const showRefusedOrg = (org: RefusedOrg | undefined): void => {
  refused = org
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useRefusedOrg = (): RefusedOrg | undefined => useSyncExternalStore(subscribe, () => refused)
