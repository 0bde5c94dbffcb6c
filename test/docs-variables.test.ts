/** Checks the variables in the examples of the documentation. */
import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { variables } from '../src/platform/ground/config/env-variables.ts'

const root = new URL('../', import.meta.url)
const pages = ['README.md', ...(await readdir(new URL('docs/', root))).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
)

test('No example exports a variable that the service itself reads, because a service started later would use it', async () => {
  const exported: string[] = []
  for (const path of pages) {
    const text = await readFile(new URL(path, root), 'utf8')
    for (const [, name] of text.matchAll(/^\s*export ([A-Z_]+)=/gm)) {
      if (Object.hasOwn(variables, name as string)) exported.push(`${path}: ${name}`)
    }
  }
  expect(pages.length).toBeGreaterThan(10)
  expect(exported).toEqual([])
})
