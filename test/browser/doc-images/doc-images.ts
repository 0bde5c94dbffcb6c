/** Takes the images of the README and the docs. `npm run -s screenshots -- --docs` does it. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { test } from 'vitest'
import { visit } from '../journey.ts'
import type { Stage } from '../stage.ts'
import { openShop, type Shop } from './shop.ts'
import { templateVariables } from './shop-mail.ts'

type Image = {
  file: string
  theme: 'light' | 'dark'
  path: (shop: Shop) => string
  prepare?: (page: Page) => Promise<void>
}

const showMail = async (page: Page): Promise<void> => {
  await page.frameLocator('iframe').getByText('Linen cushion').waitFor()
}

const fillVariables = async (page: Page): Promise<void> => {
  await page.getByLabel('Variables').fill(templateVariables)
  await showMail(page)
  await page.getByLabel('Variables').blur()
}

const images: Image[] = [
  { file: 'overview', theme: 'light', path: () => '/' },
  { file: 'message', theme: 'light', path: ({ messageId }) => `/messages?open=${messageId}`, prepare: showMail },
  { file: 'template', theme: 'dark', path: ({ templateId }) => `/templates/${templateId}`, prepare: fillVariables },
  { file: 'analytics', theme: 'dark', path: () => '/analytics' },
  { file: 'domain', theme: 'light', path: ({ domainId }) => `/domains?open=${domainId}` },
]

export const registerDocImages = (stage: () => Stage, folder: string): void => {
  test('Images of the docs', async () => {
    const shop = await openShop(stage())
    for (const { file, theme, path, prepare } of images) {
      const page = await stage().openAs(shop.ownerId, { theme, width: 1280 })
      await page.setViewportSize({ width: 1280, height: 720 })
      await visit(page, path(shop))
      await prepare?.(page)
      await page.waitForTimeout(500)
      await page.screenshot({ path: join(folder, `${file}.png`) })
      await page.context().close()
    }
  })
}
