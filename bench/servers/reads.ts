/** Reads messages as the routes do, with few or many rows. */
import { randomInt } from 'node:crypto'
import { build } from '../../src/app/wiring/build.ts'
import { fill } from './filled.ts'
import { workBench } from './work.ts'

type Params = { databaseUrl: string; rows: number; read: 'list' | 'get' }

workBench(async ({ databaseUrl, rows, read }: Params) => {
  const filled = await fill(databaseUrl)
  await filled.add(rows, null)
  await filled.close()
  const service = await build(filled.config, databaseUrl, filled.log)
  const messages = service.modules.messages.read
  const scope = { orgId: filled.orgId, tenantId: null, environment: 'live', projectId: null } as const
  const anyId = () => filled.ids[randomInt(filled.ids.length)] as string
  return {
    one: async () => {
      const row = await messages.find(scope, 'email', anyId())
      if (read === 'get') return
      // A page at a random position of the list, as a client that pages through it would request.
      const cursor = { createdAt: row.created_at.toISOString(), id: row.id }
      await messages.list(scope, 'email', {}, { cursor, limit: 20 })
    },
    close: service.stop,
  }
})
