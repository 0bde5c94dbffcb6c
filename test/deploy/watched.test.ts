/** The dashboard and the alert rules name only metrics that the service exposes, and every alert has its runbook line. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startTestService, type TestService } from '../service/service.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

type Rule = { alert: string; expr: string; annotations: { summary: string }; labels: { severity: string } }
const rules: Rule[] = parse(read('deploy/prometheus/alerts.yml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)
const recorded: { name: string; input_series: { series: string }[] }[] = parse(
  read('deploy/prometheus/alerts.test.yml'),
).tests
const dashboard: { panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[] } = JSON.parse(
  read('deploy/grafana/tidings.json'),
)

/** Names of metrics in an expression. Functions are followed by a parenthesis, and labels are inside braces. */
const metricsIn = (expr: string): string[] => {
  const words = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\b(by|on|without)\s*\([^)]*\)/g, '')
  return [...words.matchAll(/\b([a-z]\w*_\w+)\b(?!\s*\()/g)]
    .map(([, name]) => name as string)
    .filter((name) => name !== '__rate_interval')
}

let t: TestService
let exposed: Map<string, string>
beforeAll(async () => {
  t = await startTestService()
  const { text } = await t.ask('GET', '/metrics')
  exposed = new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name as string, type as string]),
  )
})
afterAll(() => t.stop())

const isExposed = (name: string): boolean => {
  const base = name.replace(/_(bucket|count|sum)$/, '')
  return exposed.get(base) === 'histogram' ? base !== name : exposed.has(name)
}

test('every metric of the alert rules is one that the service exposes', () => {
  const named = rules.flatMap(({ expr }) => metricsIn(expr))
  expect(named.length).toBeGreaterThanOrEqual(rules.length - 1)
  expect(named.filter((name) => !isExposed(name))).toEqual([])
})

test('every metric of the dashboard is one that the service exposes', () => {
  const named = dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)))
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !isExposed(name))).toEqual([])
})

test('every metric of our own is on the dashboard or in an alert', () => {
  const named = new Set(
    [
      ...rules.map(({ expr }) => expr),
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ]
      .flatMap(metricsIn)
      .map((name) => name.replace(/_(bucket|count|sum)$/, '')),
  )
  // The processor time of a pause explains a single one, in its log line.
  const own = [...exposed.keys()].filter((name) => !/^(process|nodejs)_|_cpu_seconds$/.test(name))
  expect(own.filter((name) => !named.has(name))).toEqual([])
})

test('panels of the dashboard have ids of their own', () => {
  const ids = dashboard.panels.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('every alert has recorded series in which it fires and others in which it stays silent', () => {
  const wanted = rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} stays silent`])
  expect(recorded.map(({ name }) => name).sort()).toEqual(wanted.sort())
})

test('the rules pass the recorded series in promtool', () => {
  if (spawnSync('promtool', ['--version']).error) {
    console.warn('promtool is not installed: the alert rules were not run')
    return
  }
  const folder = new URL('deploy/prometheus/', root)
  const checked = spawnSync('promtool', ['check', 'rules', 'alerts.yml'], { cwd: folder, encoding: 'utf8' })
  expect(checked.stderr + checked.stdout).toContain(`SUCCESS: ${rules.length} rules found`)
  const ran = spawnSync('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd: folder, encoding: 'utf8' })
  expect(ran.stderr + ran.stdout).toMatch(/SUCCESS\s*$/)
  expect(ran.status).toBe(0)
})

test('every alert has one line in the runbook, and the runbook names no other', () => {
  const runbook = read('docs/operations.md').split('### Runbook')[1]?.split('\n## ')[0] ?? ''
  const lines = [...runbook.matchAll(/^\| `(Tidings\w+)` \| (.+) \|$/gm)].map(([, name]) => name)
  expect(lines.sort()).toEqual(rules.map(({ alert }) => alert).sort())
})

test('every metric of our own has its line in operations.md', () => {
  const text = read('docs/operations.md')
  const own = [...exposed.keys()].filter((name) => !/^(process|nodejs)_/.test(name))
  expect(own.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})
