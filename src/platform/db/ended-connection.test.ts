import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../ground/log.ts'
import { lostConnection } from './faults.ts'
import { openDb } from './pool.ts'

const message = (type: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
const authenticated = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))
const ended = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'))

/** A server that accepts connections and ends each of them in the same packet. */
const endingServer = async (): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, ended])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `postgres://tidings@127.0.0.1:${(server.address() as AddressInfo).port}/tidings`
}

test('a connection that the server ends as soon as it is accepted fails its transaction, not the process', async () => {
  const db = openDb({ url: await endingServer(), log: silentLog() })
  onTestFinished(() => db.close())
  const fault = await db.tx(async () => 'done').catch((error: unknown) => error)
  expect(lostConnection(fault)).toBe(true)
})
