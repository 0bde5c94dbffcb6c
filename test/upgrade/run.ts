/** `npm run upgrade`: replaces the previous release by this one under load and prints the results. */
import { parseArgs } from 'node:util'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { previousCommit } from './previous-release.ts'
import { rollOut } from './rollout.ts'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, from: { type: 'string' }, ...startOnlyOption },
})
const print = (line: string) => process.stdout.write(`${line}\n`)
const outcome = await rollOut({
  from: values.from ?? (await previousCommit()),
  phaseMs: values.quick ? 1_500 : 15_000,
  startOnly: values['start-only'],
  report: print,
})
if ('skipped' in outcome) {
  print(`skipped: ${outcome.skipped}`)
  if (process.env.CI) {
    process.stderr.write('Nothing was judged, which fails in CI.\n')
    process.exitCode = 1
  } else if (values['start-only']) sayStarted('nothing, because the previous release is missing')
} else if ('started' in outcome) sayStarted(outcome.started)
else {
  const { faults, completed, messages } = outcome
  print(JSON.stringify(completed, null, 2))
  for (const fault of faults.slice(0, 50)) print(fault)
  print(`${messages} messages, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
