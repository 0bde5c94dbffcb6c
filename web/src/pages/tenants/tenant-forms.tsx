import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { ui } from '../../strings/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { Input } from '../../ui/input.tsx'
import { Form } from '../../ui/templates.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useSubmit } from '../sign-in/use-submit.ts'
import { type Tenant, useTenantRefresh } from './tenant-data.tsx'

const Save = ({ busy }: { busy: boolean }) => (
  <Button type="submit" look="primary" gate="requireOwnerSession" busy={busy}>
    {ui.save}
  </Button>
)

export const EditTenant = ({ tenant }: { tenant: Tenant }) => {
  const refresh = useTenantRefresh()
  const form = useSubmit()
  const [name, setName] = useState(tenant.name)
  const [ref, setRef] = useState(tenant.external_ref ?? '')
  const save = () =>
    form.submit(async () => {
      const params = { path: { id: tenant.id } }
      const body = { name, external_ref: ref.trim() === '' ? null : ref }
      await unwrap(api.PATCH('/api/internal/tenants/{id}', { params, body }))
      toast(ui.saved)
      await refresh()
    })
  return (
    <Form label={tenants.tabs.edit} onSubmit={save} error={form.rest} actions={<Save busy={form.busy} />}>
      <Field label={tenants.name} error={form.fault('name')}>
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label={tenants.ref} optional help={tenants.refHelp} error={form.fault('external_ref')}>
        <Input value={ref} onChange={(event) => setRef(event.target.value)} />
      </Field>
    </Form>
  )
}

const textOf = (quota: number | null): string => (quota === null ? '' : String(quota))
/** Undefined: neither empty nor a whole number. */
const quotaOf = (text: string): number | null | undefined => {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return /^\d{1,12}$/.test(trimmed) ? Number(trimmed) : undefined
}

export const TenantQuotas = ({ tenant }: { tenant: Tenant }) => {
  const refresh = useTenantRefresh()
  const form = useSubmit()
  const [tried, setTried] = useState(false)
  const [email, setEmail] = useState(textOf(tenant.quotas.email_monthly))
  const [sms, setSms] = useState(textOf(tenant.quotas.sms_monthly))
  const body = { email_monthly: quotaOf(email), sms_monthly: quotaOf(sms) }
  const save = () => {
    setTried(true)
    const { email_monthly, sms_monthly } = body
    if (email_monthly === undefined || sms_monthly === undefined) return
    return form.submit(async () => {
      const params = { path: { id: tenant.id } }
      await unwrap(api.PATCH('/api/internal/tenants/{id}/quota', { params, body: { email_monthly, sms_monthly } }))
      toast(ui.saved)
      await refresh()
    })
  }
  const fault = (name: keyof typeof body) =>
    tried && body[name] === undefined ? tenants.quotaInvalid : form.fault(name)
  return (
    <Form label={tenants.quotas} onSubmit={save} error={form.rest} actions={<Save busy={form.busy} />}>
      <Field label={tenants.emailQuota} optional help={tenants.quotaHelp} error={fault('email_monthly')}>
        <Input inputMode="numeric" value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <Field label={tenants.smsQuota} optional help={tenants.quotaHelp} error={fault('sms_monthly')}>
        <Input inputMode="numeric" value={sms} onChange={(event) => setSms(event.target.value)} />
      </Field>
    </Form>
  )
}
