/** Submits text messages over one bind: with the package alone, with the provider, or with its receipts in a database. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import smpp from 'smpp'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import type { SmppReceipts } from '../../src/providers/sms/smpp/receipts.ts'
import { makeSmppReceipts } from '../../src/providers/sms/smpp/receipts.ts'
import { makeSmppProvider } from '../../src/providers/sms/smpp/smpp-provider.ts'
import { workBench } from './work.ts'

export type SmppParams = { by: 'package' | 'provider' | 'stored'; databaseUrl?: string }

const body = 'Your code is 123456. It is valid for ten minutes.'
const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })

const openPackage = async (port: number) => {
  const session = smpp.connect({ host: '127.0.0.1', port })
  await once(session, 'connect')
  await new Promise((resolve) => session.bind_transceiver({ system_id: 'bench', password: '' }, resolve))
  return {
    one: () =>
      new Promise<void>((resolve) => {
        const fields = {
          source_addr_ton: 1,
          source_addr_npi: 1,
          source_addr: '12025550100',
          dest_addr_ton: 1,
          dest_addr_npi: 1,
          destination_addr: '12025550123',
          registered_delivery: 1,
          data_coding: 0,
          short_message: { message: body },
        }
        session.submit_sm(fields, () => resolve())
      }),
    close: async () => session.destroy(),
  }
}

const noReceipts: SmppReceipts = {
  remember: async () => undefined,
  take: async () => undefined,
  close: async () => undefined,
}

const openProvider = (port: number, receipts: SmppReceipts) => {
  const provider = makeSmppProvider({ url: `smpp://bench@127.0.0.1:${port}`, clock: systemClock, log, receipts })
  const orgId = newId('org')
  return {
    one: async () => {
      await provider.send({
        orgId,
        messageId: newId('message'),
        from: '+12025550100',
        to: '+12025550123',
        body,
        mediaUrl: [],
        dlt: null,
        messageType: 'transactional',
        at: systemClock.now(),
      })
    },
    close: provider.close,
  }
}

const openStored = async (port: number, databaseUrl: string) => {
  const db = openDb({ url: databaseUrl, log, poolSize: 4 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const receipts = makeSmppReceipts({ db, clock: systemClock, log, report: async () => undefined })
  const provider = openProvider(port, receipts)
  return {
    one: provider.one,
    close: async () => {
      await provider.close()
      await db.close()
    },
  }
}

workBench(async ({ by, databaseUrl = '' }: SmppParams) => {
  const thread = new Worker(new URL('./smsc-thread.ts', import.meta.url))
  const [port] = (await once(thread, 'message')) as [number]
  const open = {
    package: () => openPackage(port),
    provider: async () => openProvider(port, noReceipts),
    stored: () => openStored(port, databaseUrl),
  }
  const { one, close } = await open[by]()
  return {
    one,
    close: async () => {
      await close()
      await thread.terminate()
    },
  }
})
