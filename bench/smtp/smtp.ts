import { single } from '../email/email.ts'
import { type Bench, type Contender, startServer, startService, watchMemory } from '../harness.ts'
import type { FromWork } from '../servers/work.ts'

/** The service in one process, and its mail clients in another. */
const submitting: Contender = {
  name: 'smtp',
  async start(resources) {
    const { url: databaseUrl } = await resources.database('smtp')
    const service = await startService<{ smtpPort: number; key: string }>(resources, {
      name: 'smtp',
      program: new URL('../servers/email.ts', import.meta.url),
      params: { databaseUrl, smtp: true },
      worker: true,
    })
    if ('skipped' in service) return service
    const { smtpPort: port, key } = service.ready
    const clients = await startServer('smtp clients', new URL('../servers/smtp-client.ts', import.meta.url), {
      port,
      key,
    })
    return {
      async take(turn) {
        const memory = watchMemory(service.pid)
        try {
          const answer = await clients.request<FromWork>(turn)
          if ('failed' in answer) throw new Error(answer.failed)
          if ('skipped' in answer.done) return answer.done
          return { ...answer.done, rssMb: await memory.peakMb() }
        } finally {
          memory.stop()
        }
      },
      stop: async () => {
        await clients.stop()
        await service.stop()
      },
    }
  },
}

/** Compares submission over SMTP with the same emails over HTTP. */
export const smtp: Bench = {
  name: 'smtp',
  about: 'Submit an email over SMTP on open connections, and send the same email over HTTP.',
  clients: [1, 5, 20],
  baseline: 'send',
  contenders: [single, submitting],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 20, of: 'smtp', to: 'send', atLeast: 0.3 }],
}
