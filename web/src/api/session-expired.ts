/** Asks a person whose session ended to sign in again, without leaving the page. Requests wait for the outcome. */
import { useSyncExternalStore } from 'react'

type Waiting = { promise: Promise<boolean>; resolve: (signedIn: boolean) => void }

let waiting: Waiting | undefined
let enabled = false
const listeners = new Set<() => void>()

const announce = (): void => {
  for (const listener of listeners) listener()
}

/** The shell enables it. Public pages have no session that could end. */
export const enableSignInPrompt = (on: boolean): void => {
  enabled = on
}

export const askToSignIn = (): Promise<boolean> => {
  if (!enabled) return Promise.resolve(false)
  if (!waiting) {
    waiting = Promise.withResolvers<boolean>()
    announce()
  }
  return waiting.promise
}

export const answerSignIn = (signedIn: boolean): void => {
  const answered = waiting
  waiting = undefined
  announce()
  answered?.resolve(signedIn)
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useSignInAsked = (): boolean => useSyncExternalStore(subscribe, () => waiting !== undefined)
