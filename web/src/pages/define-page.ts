/** A page states its place in the dashboard. Its view is loaded when somebody opens it. */
import type { ComponentType } from 'react'
import type { Gate } from '../api/gate.ts'
import type { RailId } from '../shell/rail-map.ts'

export type PageDefinition = {
  /** With parameters after a dollar sign: `/messages/$id`. */
  path: string
  title: string
  /** `public` pages need no session and have no rail. */
  area: 'app' | 'public'
  /** The entry of the rail that leads here. Pages without one, such as details, are reached from other pages. */
  rail?: RailId
  /** The entry that is marked while this page is open, when it has none of its own. */
  within?: RailId
  /** Who may open the page. Others see which role they need. */
  gate?: Gate
  /** The page has something to show only outside production. */
  development?: true
  /** Paths with values for the parameters and a query, for screenshots and tests. Default: the path itself. */
  examples?: readonly string[]
  load: () => Promise<{ default: ComponentType }>
}

export const definePage = (page: PageDefinition): PageDefinition => page
