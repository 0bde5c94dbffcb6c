/** Free ports on loopback. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export const loopback = '127.0.0.1'

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, loopback, () => probe.close(() => resolve(true)))
  })

/** Below the range of outgoing connections, so that no connection takes the port of a program that is killed. */
const lowest = 20_000
const highest = 32_000

export const freePorts = async (count: number): Promise<number[]> => {
  const found: number[] = []
  for (let port = randomInt(lowest, highest - 1_000); found.length < count; port++) {
    if (port >= highest) throw new Error('there are too few free ports on loopback')
    if (await isFree(port)) found.push(port)
  }
  return found
}
