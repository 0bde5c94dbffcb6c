/** The figures of the dashboard. `npm run page-figures` measures them; the suite does not. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findBrowser } from '../find-browser.ts'
import { firstLoads } from '../first-load.ts'
import { buildDashboard, openStage, type Stage } from '../stage.ts'
import { measureContacts } from './contact-list.ts'
import { type Figure, figureLines, isMet } from './figure.ts'
import { measureMessageList } from './message-list.ts'
import { measureEditor } from './template-editor.ts'

/** The file for the results. */
const file = process.env.PAGE_FIGURES
const figures: Figure[] = []

test('A figure meets its target only below it', () => {
  const figure = { name: 'Paint', value: 999.6, unit: 'ms', below: 1_000 }
  expect([isMet(figure), isMet({ ...figure, value: 1_000 }), isMet({ ...figure, value: Number.NaN })]).toEqual([
    true,
    false,
    false,
  ])
  expect(figureLines([figure, { name: 'Shift', value: 0.06, unit: '', below: 0.05, digits: 3 }])).toEqual([
    'Paint  1000 ms  below 1000 ms  met',
    'Shift  0.060    below 0.05     MISSED',
  ])
})

describe.runIf(file !== undefined)('Figures', () => {
  vi.setConfig({ testTimeout: 600_000 })
  let stage: Stage
  beforeAll(async () => {
    const browser = await findBrowser()
    if (browser === undefined) throw new Error('No Chromium was found. Install one, or name one with CHROME_PATH.')
    stage = await openStage(browser)
  }, 120_000)
  afterAll(async () => {
    writeFileSync(file as string, `${figureLines(figures).join('\n')}\n`)
    await stage?.close()
  })
  const measure = (title: string, run: () => Figure[] | Promise<Figure[]>) =>
    test(title, async () => {
      const found = await run()
      figures.push(...found)
      expect(found.filter((figure) => !isMet(figure))).toEqual([])
    })

  measure('The first load is small', () => {
    const [largest] = firstLoads(buildDashboard())
    const value = (largest?.bytes ?? Number.NaN) / 1_024
    return [{ name: 'Largest first load: compressed JavaScript', value, unit: 'KB', below: 250 }]
  })
  measure('The list of messages appears fast and does not move', () => measureMessageList(stage))
  measure('Nothing blocks somebody who types in a large template', () => measureEditor(stage))
  measure('Paging through contacts keeps memory as it is', () => measureContacts(stage))
})
