/** `npm run upgrade`: replaces the previous release by this one under load and prints the results. */
import { parseArgs } from 'node:util'
import { rollOut } from './rollout.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const print = (line: string) => process.stdout.write(`${line}\n`)
const outcome = await rollOut({ phaseMs: values.quick ? 1_500 : 15_000, report: print })
if ('skipped' in outcome) print(`skipped: ${outcome.skipped}`)
else {
  const { faults, completed, messages } = outcome
  print(JSON.stringify(completed, null, 2))
  for (const fault of faults.slice(0, 50)) print(fault)
  print(`${messages} messages, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
