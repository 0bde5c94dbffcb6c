/** What a journey gets. Each file in journeys/ exports a function that registers its tests. */
import type { Page } from 'playwright-core'
import { expectNoBarriers } from './axe.ts'
import type { Stage } from './stage.ts'

export type Journey = (stage: () => Stage) => void

/** The policy of the pages forbids to evaluate text again and again, so these are functions. */
type Dashboard = {
  document: { querySelector(selector: string): unknown }
  __TSR_ROUTER__: { navigate(to: object): unknown; state: { location: unknown; resolvedLocation: unknown } }
}

const loading = '[aria-busy="true"], [role="status"][aria-label="Loading"]'

const loaded = async (page: Page): Promise<void> => {
  await page.locator('h1').first().waitFor()
  await page.waitForFunction(
    (selector) => !(globalThis as unknown as Dashboard).document.querySelector(selector),
    loading,
  )
}

/** Opens a page and waits until its view is there: a heading, and nothing that still loads. */
export const visit = async (page: Page, path: string): Promise<void> => {
  await page.goto(path)
  await loaded(page)
}

/** Goes to another page of the dashboard without loading the dashboard again. */
export const goTo = async (page: Page, path: string): Promise<void> => {
  await page.evaluate((href) => (globalThis as unknown as Dashboard).__TSR_ROUTER__.navigate({ href }), path)
  await page.waitForFunction(() => {
    const { location, resolvedLocation } = (globalThis as unknown as Dashboard).__TSR_ROUTER__.state
    return location === resolvedLocation
  })
  await loaded(page)
}

/** Opens a page and checks it for barriers in both themes. */
export const visitAndCheck = async (page: Page, path: string): Promise<void> => {
  await visit(page, path)
  await expectNoBarriers(page)
}
