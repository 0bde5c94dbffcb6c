/** Checks a page for barriers in both themes. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; help: string; nodes: { html: string; failureSummary: string }[] }

/** Runs inside the page through the protocol of the browser, which the security policy of the page does not restrict. */
const runAxe = async (page: Page, theme: 'light' | 'dark'): Promise<Violation[]> => {
  await page.evaluate(`if (!window.axe) { ${source} }`)
  const all = { resultTypes: ['violations'], rules: { region: { enabled: false } } }
  // Themes differ in colours alone, so the other rules run once.
  const options = theme === 'light' ? all : { ...all, runOnly: ['color-contrast'] }
  const result = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)
  return (result as { violations: Violation[] }).violations
}

const findBarriers = async (page: Page, theme: 'light' | 'dark') =>
  (await runAxe(page, theme)).map(({ id, nodes }) => ({
    theme,
    id,
    nodes: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
  }))

export const expectNoBarriers = async (page: Page): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    // Colours are computed anew with the next frame.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    let found = await findBarriers(page, colorScheme)
    if (found.length > 0) {
      // On a busy machine inherited colours can be a moment late. What is really wrong is found again.
      await page.waitForTimeout(300)
      found = await findBarriers(page, colorScheme)
    }
    expect(found, `${page.url()} in ${colorScheme}`).toEqual([])
  }
}
