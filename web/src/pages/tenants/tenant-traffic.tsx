import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { useMode } from '../../api/mode.ts'
import { serviceNow } from '../../api/service-time.ts'
import { tenants } from '../../strings/tenants.ts'
import { ErrorNote } from '../../ui/error-note.tsx'
import { Meter } from '../../ui/meter.tsx'
import { Select } from '../../ui/select.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'

/** The present month, which the service knows best, and the five before it in UTC. */
const lastMonths = (now: Date) => [
  { value: '', label: tenants.thisMonth },
  ...Array.from({ length: 5 }, (_, back) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back - 1, 1))
    const value = first.toISOString().slice(0, 7)
    return { value, label: value }
  }),
]

const figure = (value: number): string => value.toLocaleString('en')
const counted = (used: number, limit: number | null): string =>
  limit === null ? tenants.unlimited(figure(used)) : tenants.of(figure(used), figure(limit))

/** What a tenant sent in a month, and how much of its quotas that is. */
export const TenantTraffic = ({ id }: { id: string }) => {
  const environment = useMode()
  const [month, setMonth] = useState('')
  const { data, error } = useQuery({
    queryKey: ['tenants', 'usage', id, environment, month],
    queryFn: () => {
      const params = { path: { id }, query: { environment, ...(month && { period: month }) } }
      return unwrap(api.GET('/api/internal/tenants/{id}/usage', { params }))
    },
  })
  return (
    <section className="flex flex-col gap-4 rounded-md border p-4">
      <div className="flex items-center justify-between gap-3">
        <h3 className="font-semibold text-base">{tenants.traffic}</h3>
        <Select
          aria-label={tenants.period}
          value={month}
          onValue={setMonth}
          options={lastMonths(new Date(serviceNow()))}
        />
      </div>
      <ErrorNote error={error} />
      {!data && !error && <Skeleton className="h-20 w-full" />}
      {data && (
        <>
          <Meter
            label={tenants.email}
            used={data.email.used}
            limit={data.email.limit}
            text={counted(data.email.used, data.email.limit)}
          />
          <Meter
            label={tenants.sms}
            used={data.sms.used}
            limit={data.sms.limit}
            text={counted(data.sms.used, data.sms.limit)}
            hint={tenants.segments(data.sms.segments)}
          />
        </>
      )}
    </section>
  )
}
