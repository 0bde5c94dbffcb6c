import { useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { domains } from '../../../strings/domains.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Select } from '../../../ui/select.tsx'
import { Switch } from '../../../ui/switch.tsx'
import { Form } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { type Region, regionOptions } from './domain-data.ts'

const words = domains.fields
const empty = { name: '', region: 'us-east-1', return_path: 'send', inbound: false, tenant_id: '' }

type Props = { onClose: () => void; onAdded: (id: string) => void }

const NewDomain = ({ onClose, onAdded }: Props) => {
  const client = useQueryClient()
  const { value, change, forget } = useDraft('new-domain', empty)
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      const { tenant_id, ...others } = value
      const body = {
        ...others,
        region: value.region as Region,
        ...(tenant_id.trim() && { tenant_id: tenant_id.trim() }),
      }
      const { id } = await unwrap(api.POST('/api/internal/domains', { body }))
      forget()
      await client.invalidateQueries({ queryKey: ['domains'] })
      toast(domains.added)
      onAdded(id)
    })
  return (
    <Form
      onSubmit={send}
      error={form.rest}
      actions={
        <>
          <Button type="submit" look="primary" busy={form.busy} gate="requireDeveloperSession">
            {domains.create}
          </Button>
          <Button onClick={onClose}>{ui.cancel}</Button>
        </>
      }
    >
      <Field label={words.name} help={words.nameHelp} error={form.fault('name')}>
        <Input value={value.name} onChange={(event) => change({ name: event.target.value })} />
      </Field>
      <Field label={words.region} help={words.regionHelp} error={form.fault('region')}>
        <Select value={value.region} onValue={(region) => change({ region })} options={regionOptions} />
      </Field>
      <Field label={words.returnPath} help={words.returnPathHelp} error={form.fault('return_path')}>
        <Input value={value.return_path} onChange={(event) => change({ return_path: event.target.value })} />
      </Field>
      <Switch
        label={words.inbound}
        help={words.inboundHelp}
        checked={value.inbound}
        onChecked={(inbound) => change({ inbound })}
      />
      <Field label={words.tenant} help={words.tenantHelp} error={form.fault('tenant_id')} optional>
        <Input value={value.tenant_id} onChange={(event) => change({ tenant_id: event.target.value })} />
      </Field>
    </Form>
  )
}

export const AddDomain = ({ open, ...props }: Props & { open: boolean }) => (
  <Dialog open={open} onClose={props.onClose} title={domains.createTitle}>
    <div className="mt-4">{open && <NewDomain {...props} />}</div>
  </Dialog>
)
