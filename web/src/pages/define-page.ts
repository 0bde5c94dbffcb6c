/** A page states its place in the dashboard. Its view is loaded when somebody opens it. */
import type { ComponentType } from 'react'
import type { Gate } from '../api/gate.ts'
import type { RailId } from './rail-map.ts'

export type PageDefinition = {
  /** With parameters after a dollar sign: `/messages/$id`. */
  path: string
  title: string
  /** Pages of the app need a session and have the rail. Public ones have neither. */
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

/** A page is one of the app unless it says that it is public. */
export const definePage = (page: Omit<PageDefinition, 'area'> & { area?: 'public' }): PageDefinition => ({
  area: 'app',
  ...page,
})
