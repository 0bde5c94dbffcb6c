/** What a journey gets. Each file in journeys/ exports a function that registers its tests. */
import type { Page } from 'playwright-core'
import { expectNoBarriers } from './axe.ts'
import type { Stage } from './stage.ts'

export type Journey = (stage: () => Stage) => void

/** The policy of the pages forbids to evaluate text again and again, so these are functions. */
type Dashboard = {
  document: {
    querySelector(selector: string): unknown
    querySelectorAll(selector: string): Iterable<{ click(): void }>
  }
  localStorage: { clear(): void }
  sessionStorage: { clear(): void }
  __TSR_ROUTER__: {
    navigate(to: object): unknown
    state: { location: unknown; resolvedLocation: unknown }
    options: { context: { queryClient: { invalidateQueries(filters: object): unknown } } }
  }
}

const loading = '[aria-busy="true"], [role="status"][aria-label="Loading"]'

const loaded = async (page: Page): Promise<void> => {
  await page.waitForFunction((selector) => {
    const { document } = globalThis as unknown as Dashboard
    return document.querySelector('h1') && !document.querySelector(selector)
  }, loading)
}

/** Pages that stay loaded between tests. */
export const kept = new WeakSet<Page>()

/** Opens a page and waits until its view is there: a heading, and nothing that still loads. */
export const visit = async (page: Page, path: string): Promise<void> => {
  if (kept.has(page) && page.url() !== 'about:blank') return goTo(page, path)
  await page.goto(path)
  await loaded(page)
}

/** Loads the dashboard again, and waits in the same way. */
export const reload = async (page: Page): Promise<void> => {
  await page.reload()
  await loaded(page)
}

/** Goes to another page of the dashboard without loading the dashboard again. What it has read before is read again. */
export const goTo = async (page: Page, path: string): Promise<void> => {
  await page.evaluate((href) => {
    const router = (globalThis as unknown as Dashboard).__TSR_ROUTER__
    router.options.context.queryClient.invalidateQueries({ refetchType: 'none' })
    return router.navigate({ href })
  }, path)
  await page.waitForFunction(() => {
    const { location, resolvedLocation } = (globalThis as unknown as Dashboard).__TSR_ROUTER__.state
    return location === resolvedLocation
  })
  await loaded(page)
}

/** Leaves the dashboard as a new one would be: no drafts, no messages about what happened, no open form. */
export const tidy = async (page: Page): Promise<void> => {
  await page.unrouteAll()
  await goTo(page, '/orgs/new')
  await page.evaluate(() => {
    const { document, localStorage, sessionStorage } = globalThis as unknown as Dashboard
    for (const storage of [localStorage, sessionStorage]) storage.clear()
    for (const button of document.querySelectorAll('button[aria-label="Close"]')) button.click()
  })
}

/** Opens a page and checks it for barriers in both themes. */
export const visitAndCheck = async (page: Page, path: string): Promise<void> => {
  await visit(page, path)
  await expectNoBarriers(page)
}
