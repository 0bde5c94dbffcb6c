import { api, unwrap } from '../../../api/client.ts'
import { domains } from '../../../strings/domains.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Switch } from '../../../ui/switch.tsx'
import { fieldsOf, SelectField, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'
import { type Region, regionOptions } from './domain-data.tsx'

const words = domains.fields
const empty = { name: '', region: 'us-east-1', return_path: 'send', inbound: false, tenant_id: '' }

type Props = { onClose: () => void; onAdded: (id: string) => void }

const NewDomain = ({ onClose, onAdded }: Props) => {
  const { value, change, forget } = useDraft('new-domain', empty)
  const form = useSave(
    () => {
      const { tenant_id, ...others } = value
      const body = {
        ...others,
        region: value.region as Region,
        ...(tenant_id.trim() && { tenant_id: tenant_id.trim() }),
      }
      return unwrap(api.POST('/api/internal/domains', { body }))
    },
    {
      message: domains.added,
      done: ({ id }) => {
        forget()
        onAdded(id)
      },
      refreshes: [['domains']],
    },
  )
  const field = fieldsOf(value, change, form.fault)
  return (
    <SaveForm
      onSubmit={form.save}
      form={form}
      gate="requireDeveloperSession"
      action={domains.create}
      more={<Button onClick={onClose}>{ui.cancel}</Button>}
    >
      <TextField label={words.name} help={words.nameHelp} {...field('name')} />
      <SelectField
        label={words.region}
        help={words.regionHelp}
        error={form.fault('region')}
        value={value.region}
        onValue={(region) => change({ region })}
        options={regionOptions}
      />
      <TextField label={words.returnPath} help={words.returnPathHelp} {...field('return_path')} />
      <Switch
        label={words.inbound}
        help={words.inboundHelp}
        checked={value.inbound}
        onChecked={(inbound) => change({ inbound })}
      />
      <TextField label={words.tenant} help={words.tenantHelp} optional {...field('tenant_id')} />
    </SaveForm>
  )
}

export const AddDomain = ({ open, ...props }: Props & { open: boolean }) => (
  <Dialog open={open} onClose={props.onClose} title={domains.createTitle}>
    <div className="mt-4">{open && <NewDomain {...props} />}</div>
  </Dialog>
)
