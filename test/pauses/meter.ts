/** The longest pause of the service between two readings, measured inside its process and by a client. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export type Reading = {
  /** From /metrics, in milliseconds. */
  insideMs: number
  /** The processor time of the service during that pause, in milliseconds. */
  cpuMs: number
  /** The longest answer to a ping, in milliseconds. */
  outsideMs: number
}

export type Meter = { read(): Promise<Reading>; close(): Promise<void> }

const readInside = async (url: string): Promise<Pick<Reading, 'insideMs' | 'cpuMs'>> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  const millisOf = (name: string): number => {
    const found = text.match(new RegExp(`^${name} (\\S+)$`, 'm'))
    if (!found) throw new Error('The service does not measure its pauses.')
    return Number(found[1]) * 1_000
  }
  return { insideMs: millisOf('event_loop_pause_max_seconds'), cpuMs: millisOf('event_loop_pause_max_cpu_seconds') }
}

export const openMeter = async (url: string): Promise<Meter> => {
  const pinger = new Worker(new URL('./pinger.ts', import.meta.url), {
    workerData: { port: Number(new URL(url).port) },
  })
  const readOutside = async (): Promise<number> => {
    const answered = once(pinger, 'message')
    pinger.postMessage('read')
    return (await answered)[0] as number
  }
  const read = async (): Promise<Reading> => {
    const outsideMs = await readOutside()
    return { ...(await readInside(url)), outsideMs }
  }
  await read()
  return {
    read,
    close: async () => {
      await pinger.terminate()
    },
  }
}
