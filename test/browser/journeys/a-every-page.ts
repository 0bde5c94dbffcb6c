/** Visits every page that is registered. A page is checked here as soon as it exists. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { pathsOf, readPages, runSeeds } from '../every-page.ts'
import { type Journey, visit, visitAndCheck } from '../journey.ts'
import type { StageRole } from '../stage.ts'

const pages = await readPages()
const folder = process.env.SCREENSHOTS
const part = process.env.SCREENSHOTS_OF ?? ''
const widths = [390, 1280, 1920]

const fileOf = (path: string): string =>
  path
    .replace(/=\w+_\w+/g, '')
    .replace(/^\/$/, 'overview')
    .replace(/\W+/g, '-')
    .replace(/^-/, '')

const everyPage: Journey = (stage) => {
  let seeded: Record<string, readonly string[]> = {}
  // One view for each area: opening a browser of its own for every page takes longer than the page.
  const views = new Map<StageRole | null, Promise<Page>>()
  const viewOf = (role: StageRole | null): Promise<Page> => {
    const view = views.get(role) ?? stage().open(role)
    views.set(role, view)
    return view
  }
  beforeAll(async () => {
    seeded = await runSeeds(stage())
  }, 120_000)

  for (const page of pages) {
    const role = page.area === 'app' ? 'owner' : null
    test(`The page ${page.path} has no barriers in either theme`, async () => {
      const view = await viewOf(role)
      for (const path of pathsOf(page, seeded)) await visitAndCheck(view, path)
    })

    if (folder !== undefined && page.path.includes(part)) {
      test(`Pictures of ${page.path}`, async () => {
        for (const theme of ['light', 'dark'] as const) {
          const view = await stage().open(role, { theme })
          for (const path of pathsOf(page, seeded)) {
            for (const width of widths) {
              await view.setViewportSize({ width, height: width < 600 ? 844 : 900 })
              await visit(view, path)
              await view.screenshot({ path: join(folder, `${fileOf(path)}-${width}-${theme}.png`) })
            }
          }
          await view.close()
        }
      }, 60_000)
    }
  }

  test('Two pages have neither the same path nor the same entry of the rail', () => {
    const entries = pages.flatMap(({ rail }) => rail ?? [])
    expect([new Set(pages.map(({ path }) => path)).size, new Set(entries).size]).toEqual([pages.length, entries.length])
  })
}

export default everyPage
