import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { domains } from '../../../strings/domains.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Select } from '../../../ui/select.tsx'
import { Form, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { refreshWithout } from '../../../ui/use-opened.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { type Domain, type Region, regionOptions } from './domain-data.ts'

const useChange = (done: string) => {
  const client = useQueryClient()
  const form = useSubmit()
  const run = (work: () => Promise<unknown>) =>
    form.submit(async () => {
      await work()
      await client.invalidateQueries({ queryKey: ['domains'] })
      toast(done)
    })
  return { ...form, run }
}

const save = (busy: boolean, word: string = ui.save, reason?: string) => (
  <Button type="submit" busy={busy} gate="requireDeveloperSession" reason={reason}>
    {word}
  </Button>
)

/** A move interrupts the sending, so it is confirmed. */
const RegionForm = ({ domain }: { domain: Domain }) => {
  const client = useQueryClient()
  const [region, setRegion] = useState<Region>(domain.region)
  const [asking, setAsking] = useState(false)
  const move = async () => {
    const params = { path: { id: domain.id } }
    await unwrap(api.PATCH('/api/internal/domains/{id}/region', { params, body: { region } }))
    await client.invalidateQueries({ queryKey: ['domains'] })
    toast(domains.regionSaved)
  }
  return (
    <>
      <Form onSubmit={() => setAsking(true)} actions={save(false, domains.regionMove)}>
        <Field label={domains.region} help={domains.regionHelp}>
          <Select value={region} onValue={(value) => setRegion(value as Region)} options={regionOptions} />
        </Field>
      </Form>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={domains.regionTitle(domain.name)}
        action={domains.regionMove}
        onConfirm={move}
      >
        {domains.regionHelp}
      </ConfirmDialog>
    </>
  )
}

const TenantForm = ({ domain }: { domain: Domain }) => {
  const [tenant, setTenant] = useState(domain.tenant_id ?? '')
  const { run, busy, rest, fault } = useChange(domains.tenantSaved)
  const params = { path: { id: domain.id } }
  const body = { tenant_id: tenant.trim() || null }
  const send = () => run(() => unwrap(api.PATCH('/api/internal/domains/{id}/tenant', { params, body })))
  return (
    <Form onSubmit={send} error={rest} actions={save(busy)}>
      <Field label={domains.fields.tenant} help={domains.fields.tenantHelp} error={fault('tenant_id')} optional>
        <Input value={tenant} onChange={(event) => setTenant(event.target.value)} />
      </Field>
    </Form>
  )
}

const WarmupForm = ({ domain }: { domain: Domain }) => {
  const [days, setDays] = useState('14')
  const { run, busy, rest, fault } = useChange(domains.warmupStarted)
  const params = { path: { id: domain.id } }
  const body = { days: Number(days) }
  const send = () => run(() => unwrap(api.POST('/api/internal/domains/{id}/warmup', { params, body })))
  const reason = domain.status === 'verified' ? undefined : domains.warmupNeeds
  return (
    <Form onSubmit={send} error={rest} actions={save(busy, domains.warmupStart, reason)}>
      <Field label={domains.warmupDays} error={fault('days')}>
        <Input inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} className="w-24" />
      </Field>
    </Form>
  )
}

const Warmup = ({ domain }: { domain: Domain }) => {
  const { warmup } = domain
  return (
    <Section title={domains.warmup} description={domains.warmupHelp}>
      {warmup ? (
        <div className="flex flex-col gap-2 text-sm">
          <div className="flex justify-between gap-3">
            <span className="font-medium">{domains.warmupState(warmup.day, warmup.days)}</span>
            <span className="text-muted">{domains.warmupToday(warmup.sent_today, warmup.daily_cap)}</span>
          </div>
          <progress
            aria-label={domains.warmup}
            value={warmup.day}
            max={warmup.days}
            className="h-1.5 w-full accent-accent-solid"
          />
          <span className="text-muted text-xs">
            {domains.warmupEnds} <RelativeTime due at={warmup.ends_at} />
          </span>
        </div>
      ) : (
        <WarmupForm domain={domain} />
      )}
    </Section>
  )
}

const Remove = ({ domain, onRemoved }: { domain: Domain; onRemoved: () => void }) => {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const remove = async () => {
    await unwrap(api.DELETE('/api/internal/domains', { params: { query: { id: domain.id } } }))
    onRemoved()
    toast(domains.removed)
    await refreshWithout(client, ['domains'], domain.id)
  }
  return (
    <>
      <Section
        danger
        title={domains.remove}
        description={domains.removeHelp}
        actions={
          <Button look="danger" gate="requireDeveloperSession" onClick={() => setAsking(true)}>
            {domains.remove}
          </Button>
        }
      />
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={domains.removeTitle(domain.name)}
        action={domains.remove}
        typed={domain.name}
        onConfirm={remove}
      >
        {domains.removeHelp}
      </ConfirmDialog>
    </>
  )
}

export const DomainSettings = (props: { domain: Domain; onRemoved: () => void }) => (
  <div className="flex flex-col gap-6">
    <RegionForm domain={props.domain} />
    <TenantForm domain={props.domain} />
    <Warmup domain={props.domain} />
    <Remove {...props} />
  </div>
)
