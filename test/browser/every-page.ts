/** Every page of the dashboard with paths that can be opened, and the data that fills them. */
import { globSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PageDefinition } from '../../web/src/pages/define-page.ts'
import type { Stage } from './stage.ts'

const pagesFolder = join(dirname(dirname(import.meta.dirname)), 'web', 'src', 'pages')
const seedsFolder = join(import.meta.dirname, 'seeds')

export const readPages = async (): Promise<PageDefinition[]> =>
  Promise.all(
    globSync('**/page.ts', { cwd: pagesFolder })
      .sort()
      .map(async (file) => ((await import(join(pagesFolder, file))) as { default: PageDefinition }).default),
  )

export type SeededPaths = Record<string, readonly string[]>

/** Fills pages with data. May return paths of pages with parameters: `{ '/messages/$id': ['/messages/msg_1'] }`. */
export type Seed = (stage: Stage) => Promise<SeededPaths | undefined>

/** Each file in seeds/ exports one. They run once, before the pages are visited. */
export const runSeeds = async (stage: Stage): Promise<SeededPaths> => {
  const paths: SeededPaths = {}
  for (const file of readdirSync(seedsFolder).filter((name) => name.endsWith('.ts'))) {
    const { default: seed } = (await import(join(seedsFolder, file))) as { default: Seed }
    Object.assign(paths, await seed(stage))
  }
  return paths
}

/** The paths of a page. A page with parameters and without an example is left to its own journey. */
export const pathsOf = (page: PageDefinition, seeded: SeededPaths): readonly string[] =>
  seeded[page.path] ?? page.examples ?? (page.path.includes('$') ? [] : [page.path])
