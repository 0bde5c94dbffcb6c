/** How far an organisation is with its first steps. */
import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/schema.gen.ts'

export type Progress = paths['/api/internal/first-steps']['get']['responses'][200]['content']['application/json']
export type StepName = Progress['done'][number]

export const useProgress = () =>
  useQuery({
    queryKey: ['first-steps'],
    queryFn: () => unwrap(api.GET('/api/internal/first-steps')),
    refetchInterval: 10_000,
  })
