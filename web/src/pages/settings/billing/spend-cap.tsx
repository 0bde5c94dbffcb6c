import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { billing } from '../../../strings/billing.ts'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Section } from '../../../ui/templates.tsx'
import { TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'

const isAmount = (text: string): boolean => /^(\d+([.,]\d*)?)?$/.test(text.trim())

export const SpendCap = ({ cap }: { cap: number | null }) => {
  const readOnly = useRefusal('requireOwnerSession') !== undefined
  const [text, setText] = useState(cap === null ? '' : String(cap))
  const form = useSave(
    () => {
      const amount = text.trim() === '' ? null : Number(text.trim().replace(',', '.'))
      return unwrap(api.PATCH('/api/internal/billing', { body: { spend_cap_usd: amount } }))
    },
    { message: billing.capSaved, refreshes: [['billing']] },
  )
  return (
    <Section title={billing.cap} description={billing.capHelp}>
      <SaveForm
        label={billing.cap}
        onSubmit={() => isAmount(text) && form.save()}
        form={form}
        gate="requireOwnerSession"
      >
        <TextField
          label={billing.capAmount}
          help={billing.capEmpty}
          error={isAmount(text) ? form.fault('spend_cap_usd') : billing.capInvalid}
          inputMode="decimal"
          value={text}
          readOnly={readOnly}
          onText={setText}
        />
      </SaveForm>
    </Section>
  )
}
