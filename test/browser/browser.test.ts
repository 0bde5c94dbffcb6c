/** The dashboard in a real browser, on the real service. All journeys share one browser and one service. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, type RunnerTask, test, vi } from 'vitest'
import { registerDocImages } from './doc-images/doc-images.ts'
import { runSeeds, type SeededPaths } from './every-page.ts'
import { findBrowser } from './find-browser.ts'
import { firstLoads } from './first-load.ts'
import type { Journey } from './journey.ts'
import { type Checks, registerPageChecks, startChecks } from './page-checks.ts'
import { registerWalks, startWalks, type Walks } from './role-walk.ts'
import { buildDashboard, openStage, type Stage } from './stage.ts'

const folder = join(import.meta.dirname, 'journeys')
const names = readdirSync(folder).filter((name) => name.endsWith('.ts'))
const journeys = await Promise.all(
  names.map(async (name) => [name, ((await import(join(folder, name))) as { default: Journey }).default] as const),
)

const executablePath = await findBrowser()
if (executablePath === undefined) {
  console.warn('Browser tests are skipped: no Chromium was found. Install one, or name one with CHROME_PATH.')
}

// On a busy machine a browser takes much longer than the service.
vi.setConfig({ testTimeout: 120_000 })

test('Every file of journeys registers some', () => {
  expect(journeys.map(([, journey]) => typeof journey)).toEqual(names.map(() => 'function'))
})

test('The first load of every page is under 250 KB of compressed JavaScript', () => {
  const [largest] = firstLoads(buildDashboard())
  console.log(`Largest first load: ${largest?.page}, ${Math.round((largest?.bytes ?? 0) / 1_024)} KB with brotli`)
  expect(largest?.bytes).toBeLessThan(250 * 1_024)
}, 120_000)

describe.runIf(executablePath !== undefined)('In a browser', () => {
  let stage: Stage
  let seeded: SeededPaths = {}
  let checks: Checks = new Map()
  let walks: Walks = new Map()
  // biome-ignore lint/correctness/noEmptyPattern: the runner reads which fixtures a hook wants from its first parameter
  beforeAll(async ({}, suite) => {
    stage = await openStage(executablePath as string)
    const runs = (task: RunnerTask): boolean => (task.type === 'suite' ? task.tasks.some(runs) : task.mode === 'run')
    const [ofPages = false, ofRoles = false] = suite.tasks.slice(-2).map(runs)
    if (!ofPages && !ofRoles) return
    seeded = await runSeeds(stage)
    if (process.env.SCREENSHOTS !== undefined) return
    if (ofPages) checks = startChecks(stage, seeded)
    if (ofRoles) walks = startWalks(stage, seeded, checks.values())
  }, 120_000)
  afterAll(async () => {
    await Promise.all([...checks.values(), ...walks.values()])
    await stage?.close()
  })
  let scene: Stage
  beforeAll(() => {
    scene = stage.scene()
  })
  for (const [name, journey] of journeys) {
    describe(name, () => {
      afterEach(async () => {
        const faults = scene.takeFaults()
        await scene.rest()
        expect(faults).toEqual([])
      })
      journey(() => scene)
    })
  }
  const images = process.env.DOC_IMAGES
  if (images !== undefined) registerDocImages(() => stage, images)
  describe('Every page', () =>
    registerPageChecks(
      () => stage,
      () => checks,
      () => seeded,
    ))
  describe('Every role', () => registerWalks(() => walks))
})
