/** A database server of its own behind a relay, so that a test can stop it, refuse connections and lose answers. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../../src/platform/db/migrate.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import type { TestDatabase } from './database.ts'
import { cleanUp, start as startServer, temporaryFolder } from './embedded.ts'

/** `ask` drops the statement before the server gets it, `answer` drops what the server answers to it. */
export type Loss = 'ask' | 'answer'

export type StoppableDatabase = TestDatabase & {
  /** Queries the database as superuser. */
  asSuperuser(text: string): Promise<void>
  /** Stops the server. Connections are closed, and new ones refused. */
  stop(): Promise<void>
  start(): Promise<void>
  /**
   * Closes the connections that run statements and refuses new ones, while `work` runs. The connections that listen for
   * notifications stay, so the service still uses its cached callers.
   */
  whileRefusing<T>(work: () => Promise<T>): Promise<T>
  /** Closes the next connection that sends bytes which contain the text. Resolves to whether one did, after `work`. */
  losing<T>(text: string, loss: Loss, work: () => Promise<T>): Promise<{ result: T; lost: boolean }>
}

type Link = { client: Socket; upstream: Socket; listens: boolean; dropsAnswer: boolean }

const makeRelay = async (target: () => number) => {
  const links = new Set<Link>()
  let loss: { text: string; loss: Loss; happened: boolean } | undefined
  const end = ({ client, upstream }: Link): void => {
    client.destroy()
    upstream.destroy()
  }
  const accept = (client: Socket): void => {
    const upstream = connect(target(), '127.0.0.1')
    const link: Link = { client, upstream, listens: false, dropsAnswer: false }
    links.add(link)
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        end(link)
        links.delete(link)
      })
    }
    client.on('data', (bytes) => {
      if (/\blisten /i.test(bytes.toString('latin1'))) link.listens = true
      const hit = loss && !loss.happened && bytes.includes(loss.text) ? loss : undefined
      if (hit) hit.happened = true
      if (hit?.loss === 'ask') return end(link)
      link.dropsAnswer = hit?.loss === 'answer'
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (link.dropsAnswer) end(link)
      else client.write(bytes)
    })
  }
  let server = createServer(accept)
  const listen = async (port: number): Promise<number> => {
    server = createServer(accept).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)
  return {
    port,
    resume: () => listen(port),
    refuse: (keeps: (link: Link) => boolean): void => {
      server.close()
      for (const link of links) if (!keeps(link)) end(link)
    },
    lose: (next: typeof loss): void => {
      loss = next
    },
  }
}

/** `folder` is where the server keeps its data, if not in a temporary folder. */
export const makeStoppableDatabase = async (folder?: string): Promise<StoppableDatabase> => {
  const dataDir = join(folder ?? (await temporaryFolder()), 'data')
  let server = await startServer(dataDir, { settings: { max_connections: '60' } })
  const relay = await makeRelay(() => Number(new URL(server.url).port))
  const url = new URL(server.url)
  url.port = String(relay.port)
  const direct = async (): Promise<pg.Client> => {
    const client = new pg.Client(server.url)
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  await migrate({ connect: direct, clock: systemClock, log: silentLog() })
  const query = async <R>(config: pg.QueryConfig): Promise<R[]> => {
    const client = await direct()
    return (await client.query(config).finally(() => client.end())).rows as R[]
  }
  return {
    url: url.href,
    backgroundWrites: [],
    asSuperuser: async (text) => {
      const client = new pg.Client(server.maintenanceUrl ?? undefined)
      await client.connect()
      await client.query(text).finally(() => client.end())
    },
    sql: (text, values = []) => query({ text, values }),
    prepared: (_name, text) => query({ text }),
    stop: async () => {
      relay.refuse(() => false)
      await server.stop()
    },
    start: async () => {
      server = await startServer(dataDir, { settings: { max_connections: '60' } })
      await relay.resume()
    },
    whileRefusing: async (work) => {
      relay.refuse(({ listens }) => listens)
      return work().finally(relay.resume)
    },
    losing: async (text, kind, work) => {
      const loss = { text, loss: kind, happened: false }
      relay.lose(loss)
      const result = await work().finally(() => relay.lose(undefined))
      return { result, lost: loss.happened }
    },
    drop: async () => {
      relay.refuse(() => false)
      await server.stop()
      await cleanUp()
    },
  }
}
