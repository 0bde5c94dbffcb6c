import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { Mode } from '../../../api/mode.ts'
import type { Tone } from '../../../ui/badge.tsx'
import { pageOf, usePages } from '../../../ui/use-pages.ts'
import type { Responses } from '../message-data.ts'

export type Job = Responses<'/api/internal/jobs/{id}'>

export const jobTones: Record<Job['status'], Tone> = {
  scheduling: 'info',
  scheduled: 'info',
  running: 'info',
  completed: 'ok',
  canceled: 'neutral',
}

/** Messages that will not change any more by what the job does. */
export const doneIn = ({ counts }: Job): number =>
  counts.sent + counts.delivered + counts.bounced + counts.failed + counts.canceled

export const isMoving = ({ status }: Job): boolean => status !== 'completed' && status !== 'canceled'

export const useJobs = (environment: Mode) =>
  usePages(
    ['jobs', environment],
    (cursor) => unwrap(api.GET('/api/internal/jobs', { params: { query: { environment, ...pageOf(cursor, 50) } } })),
    { refetchInterval: 5_000 },
  )

/** Reads a moving job again every two seconds, and not while the tab is hidden. A finished one gets reports for a while. */
export const useJob = (id: string) =>
  useQuery({
    queryKey: ['job', id],
    queryFn: () => unwrap(api.GET('/api/internal/jobs/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state: { data, error } }) => {
      if (error) return false
      return data && isMoving(data) ? 2_000 : 15_000
    },
  })
