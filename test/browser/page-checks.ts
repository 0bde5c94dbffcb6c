/** Visits every page that is registered. A page is checked here as soon as it exists. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { PageDefinition } from '../../web/src/pages/define-page.ts'
import { expectNoBarriers } from './axe.ts'
import { pathsOf, readPages, type SeededPaths } from './every-page.ts'
import { goTo, visit } from './journey.ts'
import type { Stage } from './stage.ts'

const pages = await readPages()
const folder = process.env.SCREENSHOTS
const parts = (process.env.SCREENSHOTS_OF ?? '').split(',')
const widths = [390, 1280, 1920]

type Check = { faults: string[]; error?: unknown }
export type Checks = ReadonlyMap<string, Promise<Check>>

const roleOf = (page: PageDefinition) => (page.area === 'app' ? 'owner' : null)

/** The first path is loaded. The others are opened in the loaded dashboard, as somebody who clicks would. */
const checkPath = async (view: Page, path: string): Promise<void> => {
  if (view.url() === 'about:blank') await visit(view, path)
  else await goTo(view, path)
  await expectNoBarriers(view)
}

const checkPage = async (stage: Stage, view: Page, paths: readonly string[]): Promise<Check> => {
  try {
    for (const path of paths) await checkPath(view, path)
    return { faults: stage.takeFaults() }
  } catch (error) {
    return { faults: stage.takeFaults(), error }
  }
}

/** Starts the checks of all pages of an area, one after the other in one view. */
const startArea = (stage: Stage, area: PageDefinition['area'], seeded: SeededPaths): [string, Promise<Check>][] => {
  const role = area === 'app' ? 'owner' : null
  const view = stage.open(role)
  let last: Promise<unknown> = view
  return pages
    .filter((page) => page.area === area)
    .map((page) => {
      const check = last.then(async () => checkPage(stage, await view, pathsOf(page, seeded)))
      last = check
      return [page.path, check]
    })
}

/** The checks run while journeys do. Tests then report what each found. */
export const startChecks = (stage: Stage, seeded: SeededPaths): Checks =>
  new Map([...startArea(stage.scene(), 'app', seeded), ...startArea(stage.scene(), 'public', seeded)])

const fileOf = (path: string): string =>
  path
    .replace(/=\w+_\w+/g, '')
    .replace(/^\/$/, 'overview')
    .replace(/\W+/g, '-')
    .replace(/^-/, '')

const takePictures = async (stage: Stage, page: PageDefinition, seeded: SeededPaths, target: string) => {
  for (const theme of ['light', 'dark'] as const) {
    const view = await stage.open(roleOf(page), { theme })
    for (const path of pathsOf(page, seeded)) {
      for (const width of widths) {
        await view.setViewportSize({ width, height: width < 600 ? 844 : 900 })
        await visit(view, path)
        await view.screenshot({ path: join(target, `${fileOf(path)}-${width}-${theme}.png`) })
      }
    }
    await view.close()
  }
}

export const registerPageChecks = (stage: () => Stage, checks: () => Checks, seeded: () => SeededPaths): void => {
  for (const page of pages) {
    test(`The page ${page.path} has no barriers in either theme`, async () => {
      const check = await checks().get(page.path)
      if (check?.error) throw check.error
      expect(check?.faults).toEqual([])
    })
    if (folder !== undefined && parts.some((part) => page.path.includes(part))) {
      test(`Pictures of ${page.path}`, () => takePictures(stage(), page, seeded(), folder))
    }
  }

  test('Two pages have neither the same path nor the same entry of the rail', () => {
    const entries = pages.flatMap(({ rail }) => rail ?? [])
    expect([new Set(pages.map(({ path }) => path)).size, new Set(entries).size]).toEqual([pages.length, entries.length])
  })
}
