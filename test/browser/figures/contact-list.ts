/** What the browser keeps while somebody pages through a long list. */
import type { CDPSession, Page } from 'playwright-core'
import { visit } from '../journey.ts'
import type { Stage } from '../stage.ts'
import type { Figure } from './figure.ts'

const count = 100_000
/** By then the list is as long as it gets, and everything that loads once has loaded. */
const warmUp = 2_000
/** Reading on to the end takes many minutes and changes nothing: a page is dropped for each that is loaded. */
const read = 6_000

const addContacts = ({ t, org }: Stage): Promise<unknown> =>
  t.database.sql(
    `insert into contacts (org_id, id, created_environment, name, email, created_at, updated_at)
     select $1, 'con_' || lpad(n::text, 26, '0'), 'live', 'Reader ' || n, 'reader' || n || '@example.com',
       $2::timestamptz - n * interval '1 second', $2
     from generate_series(1, $3::int) as n`,
    [org.org.id, t.service.clock.now(), count],
  )

/** Runs in the page: presses "Load more" until this contact is the last of the list. */
const loadUntil = `(async (last) => {
  const main = document.querySelector('main')
  const isThere = () => main.querySelector('tbody tr:last-child').textContent.includes('reader' + last + '@')
  while (!isThere()) {
    const button = [...main.querySelectorAll('button')].find((one) => one.textContent === 'Load more')
    if (!button.ariaDisabled) {
      main.scrollTop = main.scrollHeight
      button.click()
    }
    await new Promise((done) => setTimeout(done, 5))
  }
})`

const loadTo = async (page: Page, last: number): Promise<void> => {
  await page.evaluate(`${loadUntil}(${last})`)
}

const heapOf = async (session: CDPSession): Promise<number> => {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN) / 1_048_576
}

export const measureContacts = async (stage: Stage): Promise<Figure[]> => {
  await addContacts(stage)
  const page = await stage.open('owner', {})
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await session.send('HeapProfiler.enable')
  await visit(page, '/audiences?tab=contacts')
  await loadTo(page, warmUp)
  const before = await heapOf(session)
  await loadTo(page, read)
  const after = await heapOf(session)
  await page.context().close()
  return [
    {
      name: `100,000 contacts: heap after 6,000 rows, more than the ${before.toFixed(1)} MB after 2,000`,
      value: after - before,
      unit: 'MB',
      below: 2,
      digits: 1,
    },
  ]
}
