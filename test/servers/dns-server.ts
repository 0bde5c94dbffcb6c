/** A DNS server on loopback with configurable records, over UDP and, for large answers, TCP. */
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
/** TXT records, each as one string or in chunks, MX records and addresses; or the way in which the look-up fails. */
export type Zone =
  /** The answer is prepared when the question arrives, and sent when `after` resolves. */
  | { TXT?: (string | string[])[]; MX?: Mx[]; A?: string[]; AAAA?: string[]; after?: Promise<void> }
  | 'SERVFAIL'
  | 'REFUSED'
  | 'silent'

export type DnsServer = {
  /** The value for DNS_SERVERS. */
  address: string
  /** Records by name in lower case. Any other name does not exist. */
  zones: Map<string, Zone>
  /** Every question in order, such as `TXT example.com`, with its original case. */
  asked: string[]
  /** The number of questions over TCP. */
  overTcp(): number
  close(): Promise<void>
}

const rcodes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const
const udpLimit = 512
/** The maximum size of one chunk of a TXT record. */
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
  if (type === 'A' || type === 'AAAA') return (zone[type] ?? []).map((data) => ({ type, name, ttl: 60, data }))
  return type === 'MX' ? (zone.MX ?? []).map((data) => ({ type: 'MX', name, ttl: 60, data })) : []
}

export const startDnsServer = async (): Promise<DnsServer> => {
  const zones: DnsServer['zones'] = new Map()
  const asked: string[] = []
  let tcpQuestions = 0

  /** Returns undefined if the server must not answer. */
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
      const encoded = encode(packet)
      const sent =
        encoded.length <= udpLimit
          ? encoded
          : encode({ ...packet, flags: (packet.flags ?? 0) | TRUNCATED_RESPONSE, answers: [] })
      udp.send(sent, from.port, from.address)
    })
    udp.bind(0, '127.0.0.1')
    await once(udp, 'listening')
    return udp
  }

  const openTcp = async (port: number): Promise<Server> => {
    const tcp = createServer((socket) => {
      let buffered = Buffer.alloc(0)
      socket.on('error', () => undefined)
      socket.on('data', async (bytes) => {
        buffered = Buffer.concat([buffered, bytes])
        while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
          const length = 2 + buffered.readUInt16BE(0)
          tcpQuestions++
          const question = streamDecode(buffered.subarray(0, length)) as Packet
          buffered = buffered.subarray(length)
          const packet = await reply(question)
          if (packet) socket.write(streamEncode(packet))
        }
      })
    })
    tcp.listen(port, '127.0.0.1')
    await once(tcp, 'listening')
    return tcp
  }

  /** Opens UDP and TCP on the same port. Retries if another program uses the TCP port. */
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
