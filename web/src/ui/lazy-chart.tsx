import { lazy, Suspense } from 'react'
import type { ChartProps } from './plot.tsx'
import { Bar, Loading } from './skeleton.tsx'

const Chart = lazy(() => import('./chart.tsx'))

/** A chart whose library is loaded when the first one is shown. Until then its place is kept free. */
export const LazyChart = (props: ChartProps) => (
  <Suspense fallback={<ChartSkeleton />}>
    <Chart {...props} />
  </Suspense>
)

export const ChartSkeleton = () => (
  <Loading className="flex h-[312px] flex-col gap-3 rounded-md border p-4">
    <Bar className="h-4 w-40" />
    <Bar className="h-full w-full" />
  </Loading>
)
