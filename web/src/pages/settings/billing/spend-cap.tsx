import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { billing } from '../../../strings/billing.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'

const isAmount = (text: string): boolean => /^(\d+([.,]\d*)?)?$/.test(text.trim())

export const SpendCap = ({ cap }: { cap: number | null }) => {
  const client = useQueryClient()
  const readOnly = useRefusal('requireOwnerSession') !== undefined
  const [text, setText] = useState(cap === null ? '' : String(cap))
  const form = useSubmit()
  const save = () => {
    if (!isAmount(text)) return
    void form.submit(async () => {
      const amount = text.trim() === '' ? null : Number(text.trim().replace(',', '.'))
      await unwrap(api.PATCH('/api/internal/billing', { body: { spend_cap_usd: amount } }))
      toast(billing.capSaved)
      await client.invalidateQueries({ queryKey: ['billing'] })
    })
  }
  return (
    <Section title={billing.cap} description={billing.capHelp}>
      <Form
        label={billing.cap}
        onSubmit={save}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" gate="requireOwnerSession" busy={form.busy}>
            {ui.save}
          </Button>
        }
      >
        <Field
          label={billing.capAmount}
          help={billing.capEmpty}
          error={isAmount(text) ? form.fault('spend_cap_usd') : billing.capInvalid}
        >
          <Input
            inputMode="decimal"
            value={text}
            readOnly={readOnly}
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
      </Form>
    </Section>
  )
}
