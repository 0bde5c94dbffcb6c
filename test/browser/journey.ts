/** What a journey gets. Each file in journeys/ exports a function that registers its tests. */
import type { Page } from 'playwright-core'
import { expectNoBarriers } from './axe.ts'
import type { Stage } from './stage.ts'

export type Journey = (stage: () => Stage) => void

const loaded = async (page: Page): Promise<void> => {
  await page.locator('h1').first().waitFor()
  await page.waitForFunction(`!document.querySelector('[aria-busy="true"], [role="status"][aria-label="Loading"]')`)
}

/** Opens a page and waits until its view is there: a heading, and nothing that still loads. */
export const visit = async (page: Page, path: string): Promise<void> => {
  await page.goto(path)
  await loaded(page)
}

/** Goes to another page of the dashboard without loading the dashboard again. */
export const goTo = async (page: Page, path: string): Promise<void> => {
  await page.evaluate((href) => {
    const { __TSR_ROUTER__: router } = globalThis as unknown as { __TSR_ROUTER__: { navigate(to: object): unknown } }
    return router.navigate({ href })
  }, path)
  await page.waitForFunction('__TSR_ROUTER__.state.resolvedLocation === __TSR_ROUTER__.state.location')
  await loaded(page)
}

/** Opens a page and checks it for barriers in both themes. */
export const visitAndCheck = async (page: Page, path: string): Promise<void> => {
  await visit(page, path)
  await expectNoBarriers(page)
}
