/**
 * `npm run restarts`: restarts every process under load, until so many requests were answered. Fails on a request that
 * failed and on an acknowledged message that is not stored.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { findEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { until } from './launched.ts'
import { makeLoad, type SeveralService, startSeveral } from './several-service.ts'

const { values } = parseArgs({ options: { requests: { type: 'string', default: '10000' }, ...startOnlyOption } })
const wanted = Number(values.requests)
if (!Number.isSafeInteger(wanted) || wanted < 1) throw new Error('--requests must be a whole number from 1')

/** A plan whose monthly limit is above what this command sends. */
const raisePlan = async (service: SeveralService, orgId: string): Promise<void> => {
  const response = await fetch(`${service.url()}/api/dev/billing`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ org_id: orgId, plan: 'enterprise' }),
  })
  if (!response.ok) throw new Error(`the plan was not changed: ${await response.text()}`)
}

const countStored = async ({ folder }: SeveralService, orgId: string, ids: string[]): Promise<number> => {
  const client = new pg.Client((await findEmbedded(join(folder, 'data'))) ?? '')
  await client.connect()
  const { rows } = await client
    .query('select count(*)::int as n from messages where org_id = $1 and id = any($2)', [orgId, ids])
    .finally(() => client.end())
  return rows[0].n
}

const restartUnderLoad = async (service: SeveralService): Promise<number> => {
  const { keys, org } = JSON.parse(await readFile(join(service.folder, 'first.json'), 'utf8'))
  await raisePlan(service, org.id)
  const restarts = () => service.log().filter(({ msg }) => msg === 'restart done').length
  const load = makeLoad(service.url(), keys.live)
  do {
    const before = restarts()
    service.child.kill('SIGHUP')
    await until('the restart is done', () => restarts() > before, 300_000)
    process.stderr.write(`restart ${restarts()}: ${load.result.answered} requests answered\n`)
  } while (load.result.answered < wanted && load.result.limited < wanted)
  const { answered, limited, failed, sent } = await load.stop()
  const failures = Object.values(failed).reduce((sum, count) => sum + count, 0)
  const lost = sent.length - (await countStored(service, org.id, sent))
  process.stdout.write(
    `restarts ${restarts()}, answered ${answered}, limited ${limited}, failed ${failures} ${JSON.stringify(failed)}, ` +
      `messages ${sent.length}, lost ${lost}\n`,
  )
  return failures + lost
}

const API_PROCESSES = values['start-only'] ? '1' : '2'
const service = await startSeveral({ API_PROCESSES, RATE_LIMITER: 'off', LOG_LEVEL: 'info' })
try {
  if (values['start-only']) sayStarted(`the service as ${Object.keys(await service.processes()).length} processes`)
  else process.exitCode = (await restartUnderLoad(service)) === 0 ? 0 : 1
} finally {
  await service.close()
}
