/** `npm run pauses`: sends large and hostile requests to every route and fails if one pauses the service too long. */
import { parseArgs } from 'node:util'
import { limitMs } from './verdict.ts'
import { show, walkRoutes } from './walk.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const print = (line: string) => process.stdout.write(`${line}\n`)
const { quick, only } = values
const { requests, longest, faults } = await walkRoutes({ seed: Number(values.seed), quick, only, report: print })
for (const fault of faults) print(show(fault))
if (longest) print(`longest: ${show(longest)}`)
print(`${requests} requests, ${faults.length} paused the service for more than ${limitMs} ms`)
process.exitCode = faults.length === 0 ? 0 : 1
