/** Writes to a former primary past the proxy, to see whether it accepts what the others will never have. */
import type pg from 'pg'
import type { Cluster } from './cluster.ts'
import type { NodeNumber } from './nodes.ts'
import { pause, print } from './progress.ts'

export type Probe = {
  /** Writes to the former primary for this long, on the old connection and on new ones. */
  write(ms: number): Promise<void>
  /** Rows that the former primary accepted and that the cluster does not have. */
  lost(): Promise<string[]>
}

const writeEveryMs = 20

export const probeFormerPrimary = async (cluster: Cluster, former: NodeNumber): Promise<Probe> => {
  await cluster.sql('create table if not exists drill_probe (id int primary key)')
  const early = await cluster.connectTo(former)
  const accepted: number[] = []
  let tried = 0

  const insert = async (client: pg.Client): Promise<void> => {
    const id = ++tried
    await client.query('insert into drill_probe (id) values ($1)', [id])
    accepted.push(id)
  }
  const insertOnNew = async (): Promise<void> => {
    const client = await cluster.connectTo(former)
    await insert(client).finally(() => client.end().catch(() => undefined))
  }
  /** A write that waits for a replica may never end, so nobody waits for the last one. */
  const repeat = async (write: () => Promise<void>, end: number): Promise<void> => {
    while (performance.now() < end) {
      await write().catch(() => undefined)
      await pause(writeEveryMs)
    }
  }

  return {
    write: async (ms) => {
      const end = performance.now() + ms
      const running = Promise.all([repeat(() => insert(early), end), repeat(insertOnNew, end)])
      await Promise.race([running, pause(ms + 2_000)])
      early.end().catch(() => undefined)
      print(`the former primary was asked to write ${tried} times past the proxy and accepted ${accepted.length}`)
    },
    lost: async () => {
      const kept = new Set((await cluster.sql<{ id: number }>('select id from drill_probe')).map(({ id }) => id))
      return accepted.filter((id) => !kept.has(id)).map((id) => `row ${id} that the former primary accepted`)
    },
  }
}
