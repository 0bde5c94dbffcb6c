import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { queryClient } from './api/query-client.ts'
import { sessionQuery } from './api/session.ts'
import type { PageDefinition } from './pages/define-page.ts'
import { pages } from './pages/registry.ts'
import { Gated } from './shell/gated.tsx'
import { loadView } from './shell/load-view.ts'
import { NotFound, PageError } from './shell/page-error.tsx'
import { Shell } from './shell/shell.tsx'
import { PageSkeleton } from './ui/skeleton.tsx'

const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
})

const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery)
    if (!session.user) throw redirect({ to: '/login', search: { redirect_to: location.href } })
    const nowhere = !session.active_org && !session.closed_org
    if (nowhere && location.pathname !== '/orgs/new') throw redirect({ to: '/orgs/new' })
  },
})

const routeOf = (page: PageDefinition) =>
  createRoute({
    getParentRoute: () => (page.area === 'app' ? appRoute : rootRoute) as typeof rootRoute,
    path: page.path,
    staticData: { page },
    component: page.gate
      ? () => <Gated page={page} />
      : (lazyRouteComponent(() => loadView(page), 'default') as () => React.ReactNode),
  })

const inArea = (area: PageDefinition['area']) => pages.filter((page) => page.area === area).map(routeOf)

/** Values stay texts: a token of digits must not become a number. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text))
const stringifySearch = (values: Record<string, unknown>): string => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given as [string, string][]).toString()
  return text && `?${text}`
}

export const router = createRouter({
  routeTree: rootRoute.addChildren([appRoute.addChildren(inArea('app')), ...inArea('public')]),
  context: { queryClient },
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingMs: 80,
  defaultPendingMinMs: 0,
  defaultPendingComponent: PageSkeleton,
  defaultErrorComponent: PageError,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    page?: PageDefinition
  }
}
