/** `npm run restarts`: restarts every process under load, until so many requests were answered, and counts the failures. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { until } from './launched.ts'
import { makeLoad, startSeveral } from './several-service.ts'

const { values } = parseArgs({ options: { requests: { type: 'string', default: '10000' } } })
const wanted = Number(values.requests)
if (!Number.isSafeInteger(wanted) || wanted < 1) throw new Error('--requests must be a whole number from 1')

const service = await startSeveral({ API_PROCESSES: '2', RATE_LIMITER: 'off', LOG_LEVEL: 'info' })
const restarts = () => service.log().filter(({ msg }) => msg === 'restart done').length
try {
  const { keys } = JSON.parse(await readFile(join(service.folder, 'first.json'), 'utf8'))
  const load = makeLoad(service.url(), keys.live)
  do {
    const before = restarts()
    service.child.kill('SIGHUP')
    await until('the restart is done', () => restarts() > before, 300_000)
    process.stderr.write(`restart ${restarts()}: ${load.result.answered} requests answered\n`)
  } while (load.result.answered < wanted)
  const { answered, failed } = await load.stop()
  const failures = Object.values(failed).reduce((sum, count) => sum + count, 0)
  process.stdout.write(`restarts ${restarts()}, answered ${answered}, failed ${failures} ${JSON.stringify(failed)}\n`)
  process.exitCode = failures === 0 ? 0 : 1
} finally {
  await service.close()
}
