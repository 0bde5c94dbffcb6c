/** `npm run soak -- --hours N`: runs the service under mixed load for hours and fails if anything grows or is lost. */
import { writeFile } from 'node:fs/promises'
import { sayStarted } from '../../scripts/start-only.ts'
import { judgeSoak } from './measures.ts'
import { makePlan, readOptions } from './plan.ts'
import { problemsOf, writeReport } from './report.ts'
import { runSoak, startSoak } from './soak.ts'

const args = process.argv.slice(2)
const { seconds, clients, reportFile, startOnly } = readOptions(args)
const plan = makePlan(seconds)
const print = (line: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
if (startOnly) {
  sayStarted(await startSoak(plan))
  process.exit()
}
const result = await runSoak(plan, clients, print)
const judged = judgeSoak(result.points, plan)
const report = writeReport(plan, result, judged, `npm run soak -- ${args.join(' ')}`)
if (reportFile === undefined) process.stdout.write(`\n${report}`)
else await writeFile(reportFile, report)
const problems = problemsOf(result, judged)
for (const problem of problems.slice(0, 100)) print(problem)
print(problems.length === 0 ? 'nothing grew and nothing was lost' : `${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
