/** `npm run crash -- --rounds 20`: kills the service under load and prints the results. */
import { parseArgs } from 'node:util'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { crashRounds } from './rounds.ts'
import { openService } from './service.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' }, ...startOnlyOption } })
const print = (line: string) => process.stdout.write(`${line}\n`)

if (values['start-only']) {
  const service = await openService()
  await service.start().finally(service.close)
  sayStarted('the service on a database that survives it')
  process.exit()
}

const { faults, ...figures } = await crashRounds(Number(values.rounds), print)
print(JSON.stringify(figures, null, 2))
for (const fault of faults) print(fault)
print(faults.length === 0 ? 'no acknowledged message was lost' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
