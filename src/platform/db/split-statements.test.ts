import { expect, test } from 'vitest'
import { readMigrations } from './migrate.ts'
import { splitStatements } from './split-statements.ts'

test.each([
  ['select 1; select 2', ['select 1', 'select 2']],
  ['select 1;\n\n;', ['select 1']],
  ['-- a; b\nselect 1; /* c; d */ select 2', ['select 1', 'select 2']],
  ["select 'a;''b' as \"c;d\"; select 2", ["select 'a;''b' as \"c;d\"", 'select 2']],
  ['do $$ begin; end $$; select 2', ['do $$ begin; end $$', 'select 2']],
  ['do $x$ $$; $x$; select 2', ['do $x$ $$; $x$', 'select 2']],
])('%j is split at its own semicolons only', (sql, statements) => {
  expect(splitStatements(sql)).toEqual(statements)
})

test('every statement of every migration begins with a keyword', async () => {
  const statements = (await readMigrations()).flatMap(({ sql }) => splitStatements(sql))
  expect(statements.length).toBeGreaterThan(300)
  const begins = /^(create|alter|drop|update|insert|delete|select|do|comment) /i
  expect(statements.filter((statement) => !begins.test(statement.replace(/\s+/g, ' ')))).toEqual([])
})
