/** Compares the table in docs/roles.md with the gates of the routes. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SessionGate } from '../src/interfaces/http/route.ts'
import { sharedTestService } from './service/service.ts'

const t = await sharedTestService()

const needs: Record<SessionGate, string> = {
  public: 'nobody in particular',
  requireUserSession: 'anyone signed in',
  requireSession: '`viewer`',
  requireWriteSession: '`member`',
  requireDeveloperSession: '`developer`',
  requireOwnerSession: '`owner`',
}

test('A-034 the table of routes in docs/roles.md has every route with its gate', async () => {
  const page = await readFile(join(import.meta.dirname, '../docs/roles.md'), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `[A-Z]+` \| `\/api\//.test(line))
  const keyOf = ({ path, method }: { path: string; method: string }): string => `${path} ${method}`
  const routes = t.service.dashboardRoutes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  expect(rows).toEqual(
    routes.map(({ method, path, access }) => `| \`${method}\` | \`${path}\` | ${needs[access.gate]} |`),
  )
})
