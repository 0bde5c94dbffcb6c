/** The order of the test files. */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Vitest starts the largest files first when it has not measured them before. These are small and take longest. Started
 * last, they would run alone while the other workers have nothing left to do.
 */
export const startedFirst = [
  'test/browser/',
  'test/commands/commands.test.ts',
  'test/foreign-ids/',
  'test/crash/blast-killed.test.ts',
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
