import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { domains } from '../../../strings/domains.ts'
import { ConfirmDialog, DangerSection } from '../../../ui/confirm-dialog.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Section } from '../../../ui/templates.tsx'
import { SelectField, TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { type Domain, domainList, type Region, regionOptions } from './domain-data.tsx'

const useChange = (work: () => Promise<unknown>, message: string) =>
  useSave(work, { message, refreshes: [domainList.key] })

/** A move interrupts the sending, so it is confirmed. */
const RegionForm = ({ domain }: { domain: Domain }) => {
  const [region, setRegion] = useState<Region>(domain.region)
  const [asking, setAsking] = useState(false)
  const move = () => {
    const params = { path: { id: domain.id } }
    return unwrap(api.PATCH('/api/internal/domains/{id}/region', { params, body: { region } }))
  }
  return (
    <>
      <SaveForm
        onSubmit={() => setAsking(true)}
        form={{ busy: false, rest: undefined }}
        look="secondary"
        gate="requireDeveloperSession"
        action={domains.regionMove}
      >
        <SelectField
          label={domains.region}
          help={domains.regionHelp}
          value={region}
          onValue={(value) => setRegion(value as Region)}
          options={regionOptions}
        />
      </SaveForm>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={domains.regionTitle(domain.name)}
        action={domains.regionMove}
        onConfirm={move}
        message={domains.regionSaved}
        refreshes={[domainList.key]}
      >
        {domains.regionHelp}
      </ConfirmDialog>
    </>
  )
}

const TenantForm = ({ domain }: { domain: Domain }) => {
  const [tenant, setTenant] = useState(domain.tenant_id ?? '')
  const params = { path: { id: domain.id } }
  const body = { tenant_id: tenant.trim() || null }
  const form = useChange(
    () => unwrap(api.PATCH('/api/internal/domains/{id}/tenant', { params, body })),
    domains.tenantSaved,
  )
  const { tenant: label, tenantHelp: help } = domains.fields
  return (
    <SaveForm onSubmit={form.save} form={form} look="secondary" gate="requireDeveloperSession">
      <TextField label={label} help={help} error={form.fault('tenant_id')} optional value={tenant} onText={setTenant} />
    </SaveForm>
  )
}

const WarmupForm = ({ domain }: { domain: Domain }) => {
  const [days, setDays] = useState('14')
  const params = { path: { id: domain.id } }
  const form = useChange(
    () => unwrap(api.POST('/api/internal/domains/{id}/warmup', { params, body: { days: Number(days) } })),
    domains.warmupStarted,
  )
  return (
    <SaveForm
      onSubmit={form.save}
      form={form}
      look="secondary"
      gate="requireDeveloperSession"
      reason={domain.status === 'verified' ? undefined : domains.warmupNeeds}
      action={domains.warmupStart}
    >
      <TextField
        label={domains.warmupDays}
        error={form.fault('days')}
        inputMode="numeric"
        className="w-24"
        value={days}
        onText={setDays}
      />
    </SaveForm>
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

const Remove = ({ domain: { id, name }, onRemoved }: { domain: Domain; onRemoved: () => void }) => (
  <DangerSection
    help={domains.removeHelp}
    gate="requireDeveloperSession"
    title={domains.removeTitle(name)}
    action={domains.remove}
    typed={name}
    onConfirm={() => unwrap(api.DELETE('/api/internal/domains', { params: { query: { id } } }))}
    message={domains.removed}
    done={onRemoved}
    refreshes={[domainList.key]}
    deleted={id}
  />
)

export const DomainSettings = (props: { domain: Domain; onRemoved: () => void }) => (
  <div className="flex flex-col gap-6">
    <RegionForm domain={props.domain} />
    <TenantForm domain={props.domain} />
    <Warmup domain={props.domain} />
    <Remove {...props} />
  </div>
)
