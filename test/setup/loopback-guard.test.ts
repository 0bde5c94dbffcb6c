import dgram from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'
import net from 'node:net'
import { expect, test } from 'vitest'
import { takeDials } from './loopback-guard.ts'

// From the ranges for documentation: the guard stops these calls before anything is sent.
const outside = '192.0.2.1'

const faultOf = async (socket: net.Socket): Promise<string> => {
  const [error] = await once(socket, 'error').catch((fault: Error) => [fault])
  return (error as Error).message
}

test('a connection to an address outside loopback is stopped and reported', async () => {
  const message = `a connection to ${outside} is outside loopback`
  await expect(once(net.connect(9, outside), 'connect')).rejects.toThrow(message)
  await expect(once(net.connect({ port: 9, host: outside }), 'connect')).rejects.toThrow(message)
  expect(takeDials()).toEqual([`a connection to ${outside}`, `a connection to ${outside}`])
})

test('a name is checked by the addresses that it resolves to', async () => {
  const lookup = (_: string, __: unknown, callback: (error: null, address: string, family: number) => void) =>
    callback(null, outside, 4)
  const socket = net.connect({ port: 9, host: 'name.test', lookup: lookup as never, autoSelectFamily: false })
  expect(await faultOf(socket)).toContain('is outside loopback')
  expect(takeDials()).toEqual([`a connection to name.test (${outside})`])
})

test('a query to a name server outside loopback is stopped and reported', () => {
  const resolver = new dns.promises.Resolver()
  resolver.setServers([outside])
  expect(() => resolver.resolve4('example.test')).toThrow('is outside loopback')
  resolver.setServers([`[2001:db8::1]:53`])
  expect(() => resolver.resolveTxt('example.test')).toThrow('is outside loopback')
  expect(takeDials()).toHaveLength(2)
})

test('a datagram to an address outside loopback is stopped and reported', () => {
  const socket = dgram.createSocket('udp4')
  expect(() => socket.send('x', 9, outside)).toThrow('is outside loopback')
  socket.close()
  expect(takeDials()).toEqual([`a datagram to ${outside}`])
})

test('connections to this machine are allowed', async () => {
  const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  for (const host of ['127.0.0.1', 'localhost']) {
    const socket = net.connect({ port, host })
    await once(socket, 'connect')
    socket.destroy()
  }
  server.close()
  expect(takeDials()).toEqual([])
})
