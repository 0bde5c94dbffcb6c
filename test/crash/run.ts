/** `npm run crash`: kills the service under load, and fails if a message was lost or sent as two. */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { startCluster } from './cluster.ts'
import { writeReport } from './report.ts'
import { crashRounds } from './rounds.ts'
import { startSinks } from './sinks.ts'

const args = process.argv.slice(2)
const { values } = parseArgs({
  args,
  options: {
    rounds: { type: 'string' },
    clients: { type: 'string', default: '50' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    report: { type: 'string' },
    ...startOnlyOption,
  },
})
if (values['start-only']) {
  const sinks = await startSinks()
  const cluster = await startCluster(sinks.env)
  await cluster.close()
  await sinks.close()
  sayStarted('two API processes and two workers on a database')
  process.exit()
}

const rounds = Number(values.rounds ?? (values.quick ? 8 : 32))
const clients = Number(values.clients)
const print = (line: string) => process.stdout.write(`${line}\n`)
const result = await crashRounds({ rounds, clients, only: values.only, report: print })
const text = writeReport(
  result,
  { rounds, clients },
  ['npm run crash', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
)
if (values.report === undefined) print(`\n${text}`)
else await writeFile(values.report, text)
const { faults } = result
for (const fault of faults.slice(0, 100)) print(fault)
print(faults.length === 0 ? 'nothing was lost, and nobody got two messages under one key' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
