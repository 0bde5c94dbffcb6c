/** `npm run crash -- --rounds 20`: kills the service under load and prints the results. */
import { parseArgs } from 'node:util'
import { crashRounds } from './rounds.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } })
const print = (line: string) => process.stdout.write(`${line}\n`)
const { faults, ...figures } = await crashRounds(Number(values.rounds), print)
print(JSON.stringify(figures, null, 2))
for (const fault of faults) print(fault)
print(faults.length === 0 ? 'no acknowledged message was lost' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
