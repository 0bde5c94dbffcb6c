/** Runs in a thread of its own: pings the service all the time, so that the longest answer shows its longest pause. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const { port } = workerData as { port: number }
const ping = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'

const pingAlways = async (): Promise<never> => {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  await once(socket, 'connect')
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  let longest = 0
  let asked = 0
  parentPort?.on('message', () => asked++)
  for (;;) {
    const sentAt = performance.now()
    socket.write(ping)
    // The response is so small that it always arrives in one piece.
    await once(socket, 'data', { signal: closed.signal })
    longest = Math.max(longest, performance.now() - sentAt)
    for (; asked > 0; asked--) {
      parentPort?.postMessage(longest)
      longest = 0
    }
    await wait(4)
  }
}

await pingAlways()
