/** `npm run crash -- --rounds 20` */
import { parseArgs } from 'node:util'
import { crashRounds } from './rounds.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } })
const say = (line: string) => process.stdout.write(`${line}\n`)
const { faults, ...figures } = await crashRounds(Number(values.rounds), say)
say(JSON.stringify(figures, null, 2))
for (const fault of faults) say(fault)
say(faults.length === 0 ? 'nothing was lost' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
