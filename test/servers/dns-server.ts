/** A DNS server on the loopback address that answers what it is told to, over UDP and, where that is too small, TCP. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  streamDecode,
  streamEncode,
  TRUNCATED_RESPONSE,
} from 'dns-packet'

type Mx = { preference: number; exchange: string }
/** Texts of a TXT record, each whole or in the chunks it travels in; hosts of an MX record; or how it fails. */
export type Zone =
  /** What it says at the time of the question is answered `after` this. */
  { TXT?: (string | string[])[]; MX?: Mx[]; after?: Promise<void> } | 'SERVFAIL' | 'REFUSED' | 'silent'

export type DnsServer = {
  /** For DNS_SERVERS. */
  address: string
  /** By name in lower case; a name that is not there does not exist. */
  zones: Map<string, Zone>
  /** `TXT name` of every question, as it was asked. */
  asked: string[]
  /** How many of them came over TCP. */
  overTcp(): number
  close(): Promise<void>
}

const rcodes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const
const udpLimit = 512
/** What one chunk of a TXT record holds at most. */
const chunkSize = 255

const inChunks = (text: string): string[] => text.match(new RegExp(`[^]{1,${chunkSize}}`, 'g')) ?? ['']

const answersOf = (zone: Exclude<Zone, string>, type: string, name: string): Answer[] => {
  if (type === 'TXT') {
    return (zone.TXT ?? []).map((text) => ({
      type: 'TXT',
      name,
      ttl: 60,
      data: typeof text === 'string' ? inChunks(text) : text,
    }))
  }
  return type === 'MX' ? (zone.MX ?? []).map((data) => ({ type: 'MX', name, ttl: 60, data })) : []
}

export const startDnsServer = async (): Promise<DnsServer> => {
  const zones: DnsServer['zones'] = new Map()
  const asked: string[] = []
  let tcpQuestions = 0

  /** Undefined: no answer at all. */
  const reply = async (query: Packet): Promise<Packet | undefined> => {
    const question = query.questions?.[0]
    if (!question) return undefined
    const { name, type } = question
    asked.push(`${type} ${name}`)
    const zone = zones.get(name.toLowerCase())
    if (zone === 'silent') return undefined
    const fault = zone === undefined ? 'NXDOMAIN' : typeof zone === 'string' ? zone : undefined
    const answers = typeof zone === 'object' ? answersOf(zone, type, name) : []
    if (typeof zone === 'object') await zone.after
    const flags = AUTHORITATIVE_ANSWER | (fault ? rcodes[fault] : 0)
    return { type: 'response', id: query.id ?? 0, flags, questions: [question], answers }
  }

  const openUdp = async (): Promise<Socket> => {
    const udp = createSocket('udp4')
    udp.on('message', async (bytes, from) => {
      const packet = await reply(decode(bytes))
      if (!packet) return
      const whole = encode(packet)
      const sent =
        whole.length <= udpLimit
          ? whole
          : encode({ ...packet, flags: (packet.flags ?? 0) | TRUNCATED_RESPONSE, answers: [] })
      udp.send(sent, from.port, from.address)
    })
    udp.bind(0, '127.0.0.1')
    await once(udp, 'listening')
    return udp
  }

  const openTcp = async (port: number): Promise<Server> => {
    const tcp = createServer((socket) => {
      let held = Buffer.alloc(0)
      socket.on('error', () => undefined)
      socket.on('data', async (bytes) => {
        held = Buffer.concat([held, bytes])
        while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
          const length = 2 + held.readUInt16BE(0)
          tcpQuestions++
          const question = streamDecode(held.subarray(0, length)) as Packet
          held = held.subarray(length)
          const packet = await reply(question)
          if (packet) socket.write(streamEncode(packet))
        }
      })
    })
    tcp.listen(port, '127.0.0.1')
    await once(tcp, 'listening')
    return tcp
  }

  /** Both on one port: somebody else may hold the other half of the first that is free. */
  const open = async (): Promise<{ udp: Socket; tcp: Server }> => {
    for (let tries = 0; ; tries++) {
      const udp = await openUdp()
      try {
        return { udp, tcp: await openTcp(udp.address().port) }
      } catch (error) {
        udp.close()
        if (tries === 20) throw error
      }
    }
  }

  const { udp, tcp } = await open()
  return {
    address: `127.0.0.1:${udp.address().port}`,
    zones,
    asked,
    overTcp: () => tcpQuestions,
    close: async () => {
      udp.close()
      tcp.close()
      await Promise.all([once(udp, 'close'), once(tcp, 'close')])
    },
  }
}
