/** Every page of the dashboard: each `page.ts` under this folder, found when the dashboard is built. */

import type { PageDefinition } from './define-page.ts'
import type { RailId } from './rail-map.ts'

const found = import.meta.glob<{ default: PageDefinition }>('./**/page.ts', { eager: true })

export const pages: readonly PageDefinition[] = Object.values(found).map((module) => module.default)

export const pageOf = (rail: RailId): PageDefinition | undefined => pages.find((page) => page.rail === rail)
