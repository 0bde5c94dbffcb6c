/** The pause of scheduled messages after a provider has throttled. */
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { minuteMs, secondMs } from '../../platform/ground/units.ts'

export const makeThrottlePause = ({ clock, log }: { clock: Clock; log: Log }) => {
  let until = 0
  let lengthMs = 0
  const isOn = () => clock.millis() < until
  return {
    /** Begins a pause, unless there is one. It is twice as long each time. Returns its end. */
    begin: (): Date => {
      if (!isOn()) {
        lengthMs = Math.min(Math.max(secondMs, lengthMs * 2), minuteMs)
        until = clock.millis() + lengthMs
        log.warn({ pause_ms: lengthMs }, 'provider throttled scheduled messages')
      }
      return new Date(until)
    },
    /** The end of the present pause, if there is one. */
    end: (): Date | undefined => (isOn() ? new Date(until) : undefined),
    /** Whether no provider has accepted a message since the last pause. */
    isOnTrial: () => lengthMs > 0,
    /** A provider has accepted a message. */
    reset: (): void => {
      lengthMs = 0
    },
  }
}

export type ThrottlePause = ReturnType<typeof makeThrottlePause>
