import { CSPProvider } from '@base-ui/react/csp-provider'
import { Tooltip } from '@base-ui/react/tooltip'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { router } from './router.tsx'
import { loadNewerBuild } from './shell/newer-build.ts'
import { Toasts } from './ui/toasts.tsx'
import './ui/theme.css'

// A part of the dashboard could not be loaded. Without a newer build, the page shows that and offers to try again.
window.addEventListener('vite:preloadError', () => loadNewerBuild().catch(() => undefined))

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <Tooltip.Provider delay={300}>
          <RouterProvider router={router} />
        </Tooltip.Provider>
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
