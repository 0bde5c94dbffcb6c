/** Compares what SECURITY.md says that a tenant key reads of the org with the table of routes. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { table } from './foreign-ids/table.ts'

/** Routes that show one row by its id, and show a row of no tenant to a tenant key. */
const shown = Object.entries(table).filter(
  ([route, { tenantKey, ofNoTenant }]) => /^GET .*\}$/.test(route) && (ofNoTenant ?? tenantKey) === 'open',
)

test('X-036 SECURITY.md lists exactly what a tenant key can read of the whole org', async () => {
  const page = await readFile(new URL('../SECURITY.md', import.meta.url), 'utf8')
  const [, can] = /^\| the holder of a tenant's key \| (.*?) \|/m.exec(page) as RegExpExecArray
  const listed = [...(can as string).matchAll(/`(\/[a-z-]+)`/g)].map(([, path]) => path)
  const routes = new Set(shown.map(([route]) => route.replace(/^GET (\/[a-z-]+).*/, '$1')))
  expect(listed.toSorted()).toEqual([...routes].toSorted())
})
