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

export const expectNoBarriers = async (page: Page): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    // Colours are computed anew with the next frame.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const found = (await runAxe(page, colorScheme)).map(({ id, nodes }) => ({
      theme: colorScheme,
      id,
      nodes: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
    }))
    expect(found, `${page.url()} in ${colorScheme}`).toEqual([])
  }
}
