import { lazy, Suspense, useMemo } from 'react'
import { useRefusal } from '../api/can.ts'
import type { PageDefinition } from '../pages/define-page.ts'
import { shell } from '../strings/shell.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { PageSkeleton } from '../ui/skeleton.tsx'
import { Page } from '../ui/templates.tsx'
import { loadView } from './load-view.ts'

/** A page that needs a role. Others see which one, instead of an error of the service. */
export const Gated = ({ page }: { page: PageDefinition }) => {
  const refusal = useRefusal(page.gate)
  const View = useMemo(() => lazy(() => loadView(page)), [page])
  if (refusal) {
    return (
      <Page title={page.title}>
        <EmptyState title={refusal}>{shell.askOwner}</EmptyState>
      </Page>
    )
  }
  return (
    <Suspense fallback={<PageSkeleton />}>
      <View />
    </Suspense>
  )
}
