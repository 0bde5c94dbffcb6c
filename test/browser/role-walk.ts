/** Everybody opens every page: nothing is requested that the role may not read, and nothing is offered that it may not do. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { pathsOf, readPages, type SeededPaths } from './every-page.ts'
import { goTo, visit } from './journey.ts'
import type { Stage, StageRole } from './stage.ts'

const pages = (await readPages()).filter(({ area }) => area === 'app')

/** Pages are checked as owner already. */
const walkers = ['developer', 'member', 'viewer'] as const satisfies readonly StageRole[]

type Walk = { faults: string[]; refused: string[]; offered: string[]; explained: number; error?: unknown }
export type Walks = ReadonlyMap<StageRole, Promise<Walk>>

type Found = { textContent: string; getAttribute(name: string): string | null }
type Dashboard = { document: { querySelectorAll(selector: string): Iterable<Found> } }

/** The main and the dangerous buttons of a page, without those that an empty form disables. */
const readButtons = (page: Page): Promise<{ offered: string[]; explained: number }> =>
  page.evaluate(() => {
    const { document } = globalThis as unknown as Dashboard
    const buttons = [...document.querySelectorAll('button.bg-accent-solid, button.bg-bad-solid')]
    return {
      offered: buttons.filter((one) => one.getAttribute('aria-disabled') === null).map((one) => one.textContent),
      explained: buttons.filter((one) => one.getAttribute('aria-description')?.startsWith('Needs the ')).length,
    }
  })

/** A viewer sees most. The details of a page, which make requests of their own, are opened as viewer only. */
const pathsFor = (role: StageRole, seeded: SeededPaths): string[] =>
  pages.flatMap((page) => pathsOf(page, seeded).slice(0, role === 'viewer' ? undefined : 1))

const walk = async (stage: Stage, role: StageRole, seeded: SeededPaths): Promise<Walk> => {
  const found: Walk = { faults: [], refused: [], offered: [], explained: 0 }
  try {
    const page = await stage.open(role)
    page.on('response', (response) => {
      if (response.status() !== 403) return
      found.refused.push(`${page.url()}: ${response.request().method()} ${response.url()}`)
    })
    for (const path of pathsFor(role, seeded)) {
      await (page.url() === 'about:blank' ? visit : goTo)(page, path)
      const { offered, explained } = await readButtons(page)
      found.offered.push(...offered.map((label) => `${path.split('?')[0]} ${label}`))
      found.explained += explained
    }
  } catch (error) {
    found.error = error
  }
  found.faults = stage.takeFaults()
  await stage.rest()
  return found
}

/** The walks run while journeys do, one after the other once the checks of pages are done: more at a time would be slower. */
export const startWalks = (stage: Stage, seeded: SeededPaths, checks: Iterable<Promise<unknown>>): Walks => {
  let last: Promise<unknown> = Promise.all(checks)
  return new Map(
    walkers.map((role) => {
      const walked = last.then(() => walk(stage.scene(), role, seeded))
      last = walked
      return [role, walked]
    }),
  )
}

/** What concerns only the person, and what everybody may do. */
const ofEverybody = [
  '/account/data Download your data',
  '/account/password Change password',
  '/account/password Set up',
  '/account/profile Save',
  '/orgs/new Create organisation',
  '/settings/organisation Leave organisation',
  '/settings/sso Next',
]

export const registerWalks = (walks: () => Walks): void => {
  for (const role of walkers) {
    test(`Somebody with the role ${role} opens every page, and none requests what the role may not read`, async () => {
      const found = await walks().get(role)
      if (found?.error) throw found.error
      expect([found?.faults, found?.refused]).toEqual([[], []])
    })
  }

  test('A viewer is offered nothing that changes the organisation, and reads which role may', async () => {
    const found = await walks().get('viewer')
    expect([...new Set(found?.offered)].sort()).toEqual(ofEverybody)
    expect(found?.explained).toBeGreaterThan(20)
  })
}
