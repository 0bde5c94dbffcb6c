/** The order of the test files. */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest. Vitest knows only their size when it has not run them before, and some of these are small.
 * Started last, they would run alone while the other workers have nothing left to do. The end of a run prints what its
 * slowest files took: keep this list, and the one in CONTRIBUTING.md, like it.
 */
export const startedFirst = [
  'test/browser/',
  'test/start/closed-output.test.ts',
  'test/commands/commands.test.ts',
  'test/foreign-ids/',
  'test/start/processes.test.ts',
  'test/hostile/idle-connections.test.ts',
  'src/sending/messages/removal.test.ts',
  'test/start/service.test.ts',
  'test/hostile/bounds.test.ts',
  'test/crash/blast-killed.test.ts',
  'test/hostile/routes.test.ts',
  'test/start/several.test.ts',
  'test/crash/erase-killed.test.ts',
  'test/dashboard/matrix.test.ts',
  'src/app/operator/backup.test.ts',
]

/** Sorts the named files to the front, in the order of their names. The others keep their order. */
export const longestFirst = (paths: readonly string[]): string[] => {
  const rank = (path: string): number => {
    const found = startedFirst.findIndex((name) => path.startsWith(name))
    return found === -1 ? startedFirst.length : found
  }
  return paths.toSorted((a, b) => rank(a) - rank(b))
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const byPath = Map.groupBy(sorted, ({ moduleId }) => relative(this.ctx.config.root, moduleId))
    return longestFirst([...byPath.keys()]).flatMap((path) => byPath.get(path) ?? [])
  }
}
