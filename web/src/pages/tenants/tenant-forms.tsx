import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { ui } from '../../strings/ui.ts'
import { SaveForm } from '../../ui/save-form.tsx'
import { fieldsOf, TextField } from '../../ui/text-field.tsx'
import { useFields } from '../../ui/use-draft.ts'
import { useSave } from '../../ui/use-save.ts'
import type { Tenant } from './tenant-data.tsx'

export const EditTenant = ({ tenant }: { tenant: Tenant }) => {
  const { value, change } = useFields({ name: tenant.name, external_ref: tenant.external_ref ?? '' })
  const form = useSave(
    () => {
      const params = { path: { id: tenant.id } }
      const body = { ...value, external_ref: value.external_ref.trim() === '' ? null : value.external_ref }
      return unwrap(api.PATCH('/api/internal/tenants/{id}', { params, body }))
    },
    { message: ui.saved, refreshes: [['tenants']] },
  )
  const field = fieldsOf(value, change, form.fault)
  return (
    <SaveForm label={tenants.tabs.edit} onSubmit={form.save} form={form} gate="requireOwnerSession">
      <TextField label={tenants.name} {...field('name')} />
      <TextField label={tenants.ref} optional help={tenants.refHelp} {...field('external_ref')} />
    </SaveForm>
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
  const [tried, setTried] = useState(false)
  const { value, change } = useFields({
    email_monthly: textOf(tenant.quotas.email_monthly),
    sms_monthly: textOf(tenant.quotas.sms_monthly),
  })
  const body = { email_monthly: quotaOf(value.email_monthly), sms_monthly: quotaOf(value.sms_monthly) }
  const form = useSave(
    (quotas: { email_monthly: number | null; sms_monthly: number | null }) => {
      const params = { path: { id: tenant.id } }
      return unwrap(api.PATCH('/api/internal/tenants/{id}/quota', { params, body: quotas }))
    },
    { message: ui.saved, refreshes: [['tenants']] },
  )
  const save = () => {
    setTried(true)
    const { email_monthly, sms_monthly } = body
    if (email_monthly === undefined || sms_monthly === undefined) return
    form.save({ email_monthly, sms_monthly })
  }
  const field = fieldsOf(value, change, (name) =>
    tried && body[name as keyof typeof body] === undefined ? tenants.quotaInvalid : form.fault(name),
  )
  const shared = { optional: true, help: tenants.quotaHelp, inputMode: 'numeric' } as const
  return (
    <SaveForm label={tenants.quotas} onSubmit={save} form={form} gate="requireOwnerSession">
      <TextField label={tenants.emailQuota} {...shared} {...field('email_monthly')} />
      <TextField label={tenants.smsQuota} {...shared} {...field('sms_monthly')} />
    </SaveForm>
  )
}
