/** Something that a person is asked without leaving the page. Requests wait for the outcome. */
import { useSyncExternalStore } from 'react'

type Waiting = { promise: Promise<boolean>; resolve: (done: boolean) => void }

const makePrompt = () => {
  let waiting: Waiting | undefined
  let enabled = false
  const listeners = new Set<() => void>()
  const announce = (): void => {
    for (const listener of listeners) listener()
  }
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    /** Only a page that shows the prompt enables it. */
    enable: (on: boolean): void => {
      enabled = on
    },
    ask: (): Promise<boolean> => {
      if (!enabled) return Promise.resolve(false)
      if (!waiting) {
        waiting = Promise.withResolvers<boolean>()
        announce()
      }
      return waiting.promise
    },
    answer: (done: boolean): void => {
      const answered = waiting
      waiting = undefined
      announce()
      answered?.resolve(done)
    },
    useAsked: (): boolean => useSyncExternalStore(subscribe, () => waiting !== undefined),
  }
}

/** Asks a person whose session ended to sign in again. Public pages have no session that could end. */
export const signInPrompt = makePrompt()

/** Asks a person for their own password and codes, if an identity provider opened the session for one organisation only. */
export const stepUpPrompt = makePrompt()
