import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { billing } from '../../../strings/billing.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Meter } from '../../../ui/meter.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { type Billing, PlanSection } from './plan.tsx'
import { SpendCap } from './spend-cap.tsx'

const figure = (value: number): string => value.toLocaleString('en')
const ofLimit = (used: string, limit: string | null): string =>
  limit === null ? billing.unlimited(used) : billing.of(used, limit)
const counted = (used: number, limit: number | null): string =>
  ofLimit(figure(used), limit === null ? null : figure(limit))
const dollars = (amount: string): string => `$${Number(amount).toFixed(2)}`

const Usage = ({ usage: { email, sms }, spend }: Billing) => (
  <Section title={billing.usage}>
    <div className="flex flex-col gap-4">
      <Meter label={billing.email} used={email.used} limit={email.limit} text={counted(email.used, email.limit)} />
      <Meter
        label={billing.sms}
        used={sms.used}
        limit={sms.limit}
        text={counted(sms.used, sms.limit)}
        hint={billing.segments(sms.segments)}
      />
      <Meter
        label={billing.spend}
        used={Number(spend.used)}
        limit={spend.cap === null ? null : Number(spend.cap)}
        text={ofLimit(dollars(spend.used), spend.cap && dollars(spend.cap))}
      />
    </div>
  </Section>
)

const Limits = ({ limits: { api_keys: keys, domains, members } }: Billing) => (
  <Section title={billing.limits}>
    <div className="flex flex-col gap-4">
      <Meter label={billing.keys} used={keys.used} limit={keys.max} text={counted(keys.used, keys.max)} />
      <Meter
        label={billing.domains}
        used={domains.used}
        limit={domains.max}
        text={counted(domains.used, domains.max)}
      />
      <Meter
        label={billing.members}
        used={members.used}
        limit={members.max}
        text={counted(members.used, members.max)}
      />
    </div>
  </Section>
)

const BillingPage = () => {
  const { data, error } = useQuery({
    queryKey: ['billing'],
    queryFn: () => unwrap(api.GET('/api/internal/billing')),
  })
  return (
    <Page title={billing.title} width="form">
      <ErrorNote error={error} />
      {!data && !error && <Skeleton className="h-96 w-full" />}
      {data && (
        <>
          <PlanSection state={data} />
          <Usage {...data} />
          <SpendCap cap={data.spend_cap_usd} />
          <Limits {...data} />
        </>
      )}
    </Page>
  )
}

export default BillingPage
