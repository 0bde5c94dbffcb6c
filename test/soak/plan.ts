/** When a soak samples, disturbs the service and judges, all derived from its length. */
import { parseArgs } from 'node:util'
import { startOnlyOption } from '../../scripts/start-only.ts'

const hour = 3_600

export type Plan = {
  seconds: number
  /** The rows of the report. */
  intervalSeconds: number
  /** The points that growth is judged from. */
  pointSeconds: number
  sampleSeconds: number
  /** Seconds from the start. The first and the last part of a run have restarts; the process between them is judged. */
  restartsAt: number[]
  faults: Fault[]
  /** Values before this time are warm-up. */
  warmUntil: number
  /** Memory and handles are judged from `warmUntil` to this time, within one process. */
  oneProcessUntil: number
}

export type Fault = { kind: 'relay' | 'receiver'; from: number; until: number }

export type Options = { seconds: number; reportFile: string | undefined; clients: number; startOnly: boolean }

export const makePlan = (seconds: number): Plan => {
  const intervalSeconds = Math.min(hour, seconds / 6)
  const pointSeconds = intervalSeconds / 5
  const faultSeconds = Math.min(30, intervalSeconds / 10)
  const intervals = Math.floor(seconds / intervalSeconds)
  const faults = Array.from({ length: intervals }, (_, i): Fault[] => {
    const at = (share: number) => (i + share) * intervalSeconds
    return [
      { kind: 'receiver', from: at(0.15), until: at(0.15) + faultSeconds },
      { kind: 'relay', from: at(0.55), until: at(0.55) + faultSeconds },
    ]
  }).flat()
  return {
    seconds,
    intervalSeconds,
    pointSeconds,
    sampleSeconds: Math.min(10, pointSeconds / 3),
    restartsAt: [1 / 24, 1 / 8, 7 / 8, 23 / 24].map((share) => share * seconds),
    faults,
    warmUntil: seconds / 6,
    oneProcessUntil: (5 / 6) * seconds,
  }
}

const usage =
  'Usage: npm run soak -- --hours N | --minutes N [--clients N] [--report FILE]. ' +
  'The length is from 2 minutes to 1,000 hours; fractions are allowed.'

export const readOptions = (args: string[]): Options => {
  const { values } = parseArgs({
    args,
    options: {
      hours: { type: 'string' },
      minutes: { type: 'string' },
      clients: { type: 'string', default: '6' },
      report: { type: 'string' },
      ...startOnlyOption,
    },
  })
  const { hours, minutes, clients, report } = values
  if ((hours === undefined) === (minutes === undefined)) throw new Error(usage)
  const seconds = Number(hours ?? minutes) * (hours === undefined ? 60 : hour)
  if (!(seconds >= 120 && seconds <= 1_000 * hour)) throw new Error(usage)
  const count = Number(clients)
  if (!(Number.isSafeInteger(count) && count >= 1 && count <= 500)) throw new Error('--clients must be from 1 to 500')
  return { seconds, reportFile: report, clients: count, startOnly: values['start-only'] }
}
