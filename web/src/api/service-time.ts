/**
 * The time of the service. The clock of a browser can be wrong, and the development tools move that of the service. Every
 * answer tells it, and in between passes the time that the browser measures, which nobody can set.
 */
import { useSyncExternalStore } from 'react'

let known: { at: number; measured: number } | undefined
let shown: number | undefined
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

/** How often times on a page are drawn again. */
const stepMs = 30_000

export const serviceNow = (): number => (known ? known.at + performance.now() - known.measured : Date.now())

const draw = (): void => {
  shown = serviceNow()
  for (const listener of listeners) listener()
}

/** Only a jump is drawn at once. */
export const learnTime = ({ headers }: Response): void => {
  const at = Date.parse(headers.get('x-service-time') ?? '')
  if (Number.isNaN(at)) return
  known = { at, measured: performance.now() }
  if (shown !== undefined && Math.abs(at - shown) > stepMs) draw()
}

/** One timer for all times on a page. */
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  timer ??= setInterval(draw, stepMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The same value until the next step, as a view needs it. */
const readShown = (): number => {
  const now = serviceNow()
  if (shown === undefined || Math.abs(now - shown) > stepMs) shown = now
  return shown
}

/** The time for a view, which changes every half minute. */
export const useServiceNow = (): number => useSyncExternalStore(subscribe, readShown, readShown)
