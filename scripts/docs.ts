/** `npm run docs`: writes the pages and types that are generated from the source. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { configurationPage } from './configuration-page.ts'
import { dashboardTypes } from './dashboard-types.ts'
import { errorsPage } from './errors-page.ts'
import { architecturePage } from './house-table.ts'
import { isStartOnly, sayStarted } from './start-only.ts'

const root = dirname(import.meta.dirname)

const pages: Record<string, () => string | Promise<string>> = {
  'docs/architecture.md': architecturePage,
  'docs/configuration.md': configurationPage,
  'docs/errors.md': errorsPage,
  'web/src/api/schema.gen.ts': dashboardTypes,
}

export const stalePages = async (): Promise<string[]> => {
  const stale: string[] = []
  for (const [name, make] of Object.entries(pages)) {
    const now = await readFile(join(root, name), 'utf8').catch(() => '')
    if (now !== (await make())) stale.push(`${name} is out of date: run npm run docs`)
  }
  return stale
}

if (process.argv[1] === import.meta.filename) {
  if (isStartOnly()) sayStarted(`the sources of ${Object.keys(pages).join(', ')}`)
  else {
    for (const [name, make] of Object.entries(pages)) await writeFile(join(root, name), await make())
  }
}
