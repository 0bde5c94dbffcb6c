/** `npm run docs`: writes the documentation pages that are generated from the source. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { configurationPage } from '../src/ground/config/configuration-page.ts'
import { errorsPage } from '../src/ground/errors.ts'

const folder = join(dirname(import.meta.dirname), 'docs')

const pages: Record<string, () => string> = {
  'configuration.md': configurationPage,
  'errors.md': errorsPage,
}

export const stalePages = async (): Promise<string[]> => {
  const stale: string[] = []
  for (const [name, make] of Object.entries(pages)) {
    const now = await readFile(join(folder, name), 'utf8').catch(() => '')
    if (now !== make()) stale.push(`docs/${name} is out of date: run npm run docs`)
  }
  return stale
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, make] of Object.entries(pages)) await writeFile(join(folder, name), make())
}
