/**
 * The load generator's process. It shares the machine with the server that it measures, so the loop does as little as
 * possible: one read buffer for all connections, one prepared request per connection in which only the digits of the
 * counter change, one clock reading per response (which is also the start of the next request), and no object
 * allocations per request.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { percentile } from './figures.ts'
import type { LoadAnswer, LoadJob, LoadResult } from './load.ts'
import { makeResponseReader, prepareRequest, writeCounter } from './wire.ts'

/** Far more entries than a run can produce. Exceeding it is an error, so no response is lost silently. */
const latencies = new Float64Array(1 << 21)
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)
const stuckAfterMs = 15_000
const openedAtOnce = 50

/** Never reset, so that no two requests of a run carry the same number. */
let counter = 0

const measure = async ({ port, request, clients, warmMs, measureMs }: LoadJob): Promise<LoadResult> => {
  const outcome = Promise.withResolvers<void>()
  // A connection may break while others are being opened, before the outcome is awaited.
  outcome.promise.catch(() => {})
  const sockets: Socket[] = []
  const starts: (() => void)[] = []
  let inFlight = 0
  let measured = 0
  let refused = 0
  let firstRefusal = ''
  let measureFrom = Number.POSITIVE_INFINITY
  let measureTo = Number.POSITIVE_INFINITY
  let cpuBefore: NodeJS.CpuUsage | undefined
  let cpuSpent: NodeJS.CpuUsage | undefined

  const open = async () => {
    const prepared = prepareRequest(port, request)
    const reader = makeResponseReader()
    let sentAt = 0

    const send = () => {
      writeCounter(prepared, ++counter)
      // The buffer can be reused, because a response means that the whole request was sent.
      socket.write(prepared.bytes)
    }
    const receive = (length: number) => {
      const status = reader.feed(readBuffer, length)
      if (status === 0) return
      const now = performance.now()
      if (status < 200 || status > 299) {
        if (refused++ === 0) firstRefusal = readBuffer.toString('latin1', 0, Math.min(length, 600))
      }
      if (now < measureTo) {
        if (now >= measureFrom) {
          cpuBefore ??= process.cpuUsage()
          if (measured === latencies.length) throw new Error('more responses than the latency table can hold')
          latencies[measured++] = now - sentAt
        }
        sentAt = now
        send()
      } else {
        cpuSpent ??= process.cpuUsage(cpuBefore)
        if (--inFlight === 0) outcome.resolve()
      }
    }

    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length) => {
          try {
            receive(length)
          } catch (error) {
            outcome.reject(error)
          }
          return true
        },
      },
    })
    sockets.push(socket)
    await once(socket, 'connect')
    socket.on('error', outcome.reject)
    socket.on('close', () => outcome.reject(new Error('the server closed a connection under load')))
    starts.push(() => {
      inFlight++
      sentAt = performance.now()
      send()
    })
  }

  const stuck = setTimeout(
    () => outcome.reject(new Error(`${inFlight} requests without a response ${stuckAfterMs} ms after the end`)),
    warmMs + measureMs + stuckAfterMs,
  )
  try {
    while (sockets.length < clients) {
      await Promise.all(Array.from({ length: Math.min(openedAtOnce, clients - sockets.length) }, open))
    }
    measureFrom = performance.now() + warmMs
    measureTo = measureFrom + measureMs
    for (const start of starts) start()
    await outcome.promise
  } finally {
    clearTimeout(stuck)
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  }

  if (refused > 0) throw new Error(`${refused} responses were not 2xx; the first:\n${firstRefusal}`)
  if (measured === 0) throw new Error(`no response within the measured ${measureMs} ms`)
  const sorted = latencies.subarray(0, measured).sort()
  return {
    requests: measured,
    perSecond: (measured * 1000) / measureMs,
    p50Ms: percentile(sorted, 50),
    p99Ms: percentile(sorted, 99),
    cpuShare: cpuSpent ? (cpuSpent.user + cpuSpent.system) / 1000 / measureMs : 0,
  }
}

const answer = (message: LoadAnswer) => process.send?.(message)

process.on('message', (job: LoadJob) => {
  measure(job).then(
    (done) => answer({ done }),
    (error: unknown) => answer({ failed: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
// Ctrl-C reaches the whole process group. The harness stops this process after it has cleaned up.
process.on('SIGINT', () => {})
