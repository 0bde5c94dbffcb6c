import type { PageDefinition } from '../pages/define-page.ts'
import { shell } from '../strings/shell.ts'

/** A browser remembers which modules it could not load, so only loading the dashboard again helps. */
export class NotLoaded extends Error {}

/** The router would load the dashboard again by itself after the error of the browser, even while the service is away. */
export const loadView = (page: PageDefinition) =>
  page.load().catch((error: unknown) => {
    throw new NotLoaded(shell.notLoaded, { cause: error })
  })
