/** How the list of messages appears on the first visit, with nothing in the cache of the browser. */
import { visit } from '../journey.ts'
import type { Stage } from '../stage.ts'
import type { Figure } from './figure.ts'

const rows = 100
const loads = 3

const subjects = ['Your order has shipped', 'Invoice 2026-11', 'Reset your password', 'Welcome to Acme']

const addMessages = async ({ t, org }: Stage): Promise<void> => {
  const mail = (n: number) => ({
    from: 'hello@example.test',
    to: [`${n % 9 === 0 ? 'bounced' : 'delivered'}+${n}@simulator.tidings.test`],
    subject: subjects[n % subjects.length],
    text: 'Hello',
  })
  const body = Array.from({ length: rows }, (_, n) => mail(n))
  const reply = await t.ask('POST', '/api/v1/emails/batch', { key: org.keys.live, body })
  if (reply.status >= 300) throw new Error(reply.text)
}

/** Shifts right after an input count as expected, and nothing is typed here. */
const measure = `(async () => {
  const observed = (type) => new Promise((done) => {
    const entries = []
    new PerformanceObserver((list) => entries.push(...list.getEntries())).observe({ type, buffered: true })
    setTimeout(() => done(entries), 500)
  })
  const shifts = await observed('layout-shift')
  const [paint] = performance.getEntriesByName('first-contentful-paint')
  return {
    paintMs: paint.startTime,
    shift: shifts.filter((entry) => !entry.hadRecentInput).reduce((sum, entry) => sum + entry.value, 0),
    rows: document.querySelectorAll('main tbody tr').length,
  }
})()`

export const measureMessageList = async (stage: Stage): Promise<Figure[]> => {
  await addMessages(stage)
  const found: { paintMs: number; shift: number; rows: number }[] = []
  for (let load = 0; load < loads; load++) {
    const page = await stage.open('owner', {})
    await visit(page, '/messages')
    const measured = (await page.evaluate(measure)) as (typeof found)[number]
    if (measured.rows < rows) throw new Error(`the list has ${measured.rows} rows instead of ${rows}`)
    found.push(measured)
    await page.context().close()
  }
  const worst = (of: (one: (typeof found)[number]) => number): number => Math.max(...found.map(of))
  return [
    {
      name: 'Messages, 100 rows: first contentful paint',
      value: worst(({ paintMs }) => paintMs),
      unit: 'ms',
      below: 1_000,
    },
    { name: 'Messages, 100 rows: layout shift', value: worst(({ shift }) => shift), unit: '', below: 0.05, digits: 3 },
  ]
}
