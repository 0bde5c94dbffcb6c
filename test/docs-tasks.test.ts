/** Compares the table of tasks in docs/dev-tools.md with the tasks of the worker. */
import { readFile } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const schedules: Record<string, string> = {
  none: 'continuously',
  '* * * * *': 'every minute',
  '*/5 * * * *': 'every 5 minutes',
  '*/15 * * * *': 'every 15 minutes',
  '7 * * * *': 'minute 7 of every hour',
  '17 * * * *': 'minute 17 of every hour',
  '0 3 * * *': '03:00 every night',
}

test('The table of tasks in docs/dev-tools.md has every task with its schedule', async () => {
  const page = await readFile(new URL('../docs/dev-tools.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, name, schedule]) => [name, schedule?.trim()])
  const tasks = Object.entries(t.service.tasks).map(([name, task]) => [name, schedules[task?.cron ?? 'none']])
  expect(rows.filter(([name]) => name !== undefined && name in t.service.tasks).toSorted()).toEqual(tasks.toSorted())
})

test('docs/dev-tools.md names every count that a task returns', async () => {
  const page = await readFile(new URL('../docs/dev-tools.md', import.meta.url), 'utf8')
  const counts: string[] = []
  for (const task of Object.values(t.service.tasks)) counts.push(...Object.keys((await task?.run()) ?? {}))
  expect(counts.length).toBeGreaterThan(20)
  expect(counts.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
