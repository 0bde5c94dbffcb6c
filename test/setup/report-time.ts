/** Prints which files took most processor time. It is called at the end of a run, so it works with every reporter. */
import { relative } from 'node:path'
import type { TestProject } from 'vitest/node'

const printed = 15

type Measured = { path: string; seconds: number }

const measuredFiles = ({ vitest }: TestProject): Measured[] =>
  vitest.state
    .getTestModules()
    .map((file) => ({
      path: relative(vitest.config.root, file.moduleId),
      seconds: file.meta().processorSeconds ?? 0,
    }))
    .toSorted((a, b) => b.seconds - a.seconds)

const column = (seconds: number): string => seconds.toFixed(1).padStart(8)

export const reportTime = (project: TestProject, databaseSeconds: number | undefined, wallSeconds: number): void => {
  const files = measuredFiles(project)
  const inFiles = files.reduce((sum, { seconds }) => sum + seconds, 0)
  const lines = [
    'Processor seconds',
    ...files.slice(0, printed).map(({ path, seconds }) => `${column(seconds)}  ${path}`),
    `${column(inFiles)}  in all ${files.length} files`,
    ...(databaseSeconds === undefined ? [] : [`${column(databaseSeconds)}  in PostgreSQL`]),
    `${column(wallSeconds)}  seconds from start to end`,
  ]
  process.stdout.write(`\n${lines.join('\n')}\n`)
}
