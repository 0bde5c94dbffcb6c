/** Relative times of the dashboard follow the clock of the service, and not that of the browser. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createElement, type FunctionComponent } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'

const source = join(import.meta.dirname, '..', '..', 'web', 'src')

let api: { GET: (path: string) => Promise<unknown> }
let shown: (props: { at: string; due?: true }) => string

beforeAll(async () => {
  vi.stubGlobal('location', { origin: 'http://dashboard.test' })
  const client = await import(join(source, 'api/client.ts'))
  const { RelativeTime } = await import(join(source, 'ui/relative-time.tsx'))
  api = client.api
  shown = (props) =>
    renderToStaticMarkup(createElement(RelativeTime as FunctionComponent<typeof props>, props)).replaceAll(
      /<[^>]*>/g,
      '',
    )
})

/** The browser's clock is eleven minutes late. */
const browser = Date.parse('2026-01-15T11:49:00.000Z')
const service = Date.parse('2026-01-15T12:00:00.000Z')
const after = (minutes: number): string => new Date(service + minutes * 60_000).toISOString()

const answerAt = async (time: number): Promise<void> => {
  vi.spyOn(globalThis, 'fetch').mockResolvedValue(
    Response.json({}, { headers: { 'x-service-time': new Date(time).toISOString() } }),
  )
  await api.GET('/api/internal/org')
}

afterAll(() => vi.unstubAllGlobals())

beforeEach(() => {
  vi.useFakeTimers({ now: browser, toFake: ['Date', 'performance', 'setInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('A message that was just sent is not in the future of a browser that is late', async () => {
  await answerAt(service)
  expect([shown({ at: after(0) }), shown({ at: after(-2) })]).toEqual(['now', '2 min. ago'])
})

test('Time passes between two answers, also if somebody sets the clock of the browser meanwhile', async () => {
  await answerAt(service)
  vi.advanceTimersByTime(3 * 60_000)
  vi.setSystemTime(browser - 86_400_000)
  expect(shown({ at: after(0) })).toBe('3 min. ago')
})

test('A moved clock of the service counts from the next answer', async () => {
  await answerAt(service)
  await answerAt(service + 3_600_000)
  expect([shown({ at: after(0) }), shown({ at: after(61), due: true })]).toEqual(['1 hr. ago', 'in 1 min.'])
})

test('What has happened is never in the future, and what is due can be', async () => {
  await answerAt(service)
  expect([shown({ at: after(5) }), shown({ at: after(5), due: true })]).toEqual(['now', 'in 5 min.'])
})

test('No page asks the browser for the time', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  const asking = files.filter((file) => /Date\.now\(|new Date\(\)/.test(readFileSync(join(source, file), 'utf8')))
  expect(asking).toEqual(['api/service-time.ts'])
})
