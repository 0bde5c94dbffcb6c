/** `npm run pauses`: sends large and hostile requests to every route and fails if one pauses the service too long. */
import { parseArgs } from 'node:util'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { isTooLong, limitMs, longestOf } from './verdict.ts'
import { countRoutes, show, walkRoutes } from './walk.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    ...startOnlyOption,
  },
})
const print = (line: string) => process.stdout.write(`${line}\n`)
const { quick, only } = values
if (values['start-only']) {
  sayStarted(`the service with ${await countRoutes()} routes, and the meter of its pauses`)
  process.exit()
}
const { routes, pauses } = await walkRoutes({ seed: Number(values.seed), quick, only, report: print })
const faults = pauses.filter(isTooLong)
const slowest = pauses.toSorted((a, b) => b.seconds - a.seconds).slice(0, 3)
const longest = pauses.toSorted((a, b) => longestOf(b) - longestOf(a)).slice(0, 3)

print('\nslowest requests:')
for (const { seconds, route, payload, status } of slowest) {
  print(`  ${seconds.toFixed(1)} s: ${route}, ${payload} (${status})`)
}
print('longest pauses:')
for (const pause of longest) print(`  ${show(pause)}`)
for (const fault of faults) print(`too long: ${show(fault)}`)
print(
  `\n${pauses.length} requests to ${routes} routes in ${Math.round(performance.now() / 1_000)} s, ` +
    `${faults.length} paused the service for more than ${limitMs} ms`,
)
process.exitCode = faults.length === 0 ? 0 : 1
