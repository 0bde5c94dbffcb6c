/** Checks a page for barriers in both themes. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { theme: string; id: string; nodes: string[] }

/** Frames hold mail of others, and nothing of the pages is in media or style sheets that axe would load again. */
const options = { resultTypes: ['violations'], rules: { region: { enabled: false } }, iframes: false, preload: false }

/**
 * Runs in the page, in one call for both themes. Themes differ in colours alone, so the other rules run once. The theme
 * changes in place. Colours can have transitions, and those of parents start those of children: each change is ended
 * until none is left. The guards around dialogs are left out: they pass the focus on at once, which axe only knows while it
 * recognises the dialog as modal.
 */
const script = `(async () => {
  const root = document.documentElement
  const before = root.dataset.theme
  const found = []
  for (const theme of ['light', 'dark']) {
    root.dataset.theme = theme
    for (let i = 0; i < 20; i++) {
      const running = document.getAnimations().filter((a) => a instanceof CSSTransition)
      if (running.length === 0) break
      for (const animation of running) animation.finish()
    }
    const only = theme === 'light' ? {} : { runOnly: ['color-contrast'] }
    const { violations } = await axe.run({ exclude: ['[data-base-ui-focus-guard]'] }, { ...${JSON.stringify(options)}, ...only })
    for (const { id, nodes } of violations) {
      found.push({ theme, id, nodes: nodes.map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary) })
    }
  }
  if (before === undefined) delete root.dataset.theme
  else root.dataset.theme = before
  return found
})()`

/** Runs through the protocol of the browser, which the security policy of the page does not restrict. */
export const expectNoBarriers = async (page: Page): Promise<void> => {
  if (!(await page.evaluate('Boolean(window.axe)'))) await page.evaluate(source)
  const found = (await page.evaluate(script)) as Violation[]
  expect(found, page.url()).toEqual([])
}
