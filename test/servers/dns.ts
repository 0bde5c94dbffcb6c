/** A DNS server on loopback whose answers a test computes for each question. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import dnsPacket from 'dns-packet'

export type TestDns = {
  /** The value for DNS_SERVERS. */
  server: string
  /** The type and name of every question, in order. */
  asked: string[]
  stop(): Promise<void>
}

/** Returns the addresses of a name, or undefined if it does not exist. */
export type Zone = (name: string, type: 'A' | 'AAAA', nth: number) => string[] | undefined | Promise<string[]>

export const startDns = async (zone: Zone, ttl = 0): Promise<TestDns> => {
  const socket = createSocket('udp4')
  const asked: string[] = []
  const times = new Map<string, number>()
  socket.on('message', async (bytes, from) => {
    const query = dnsPacket.decode(bytes)
    const question = query.questions?.[0]
    if (!question || (question.type !== 'A' && question.type !== 'AAAA')) return
    const { name, type } = question
    const line = `${type} ${name.toLowerCase()}`
    asked.push(line)
    const nth = (times.get(line) ?? 0) + 1
    times.set(line, nth)
    const addresses = await zone(name.toLowerCase(), type, nth)
    const answers = (addresses ?? []).map((data) => ({ type, name, ttl, data }) as const)
    socket.send(
      dnsPacket.encode({
        type: 'response',
        id: query.id ?? 0,
        flags: dnsPacket.RECURSION_AVAILABLE | dnsPacket.RECURSION_DESIRED | (addresses ? 0 : 3),
        questions: [question],
        answers,
      }),
      from.port,
      from.address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    server: `127.0.0.1:${socket.address().port}`,
    asked,
    stop: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}
