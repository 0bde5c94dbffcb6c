import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { SecretOnce } from '../../../ui/secret-once.tsx'
import { Select } from '../../../ui/select.tsx'
import { Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { refreshWithout } from '../../../ui/use-opened.ts'
import type { Endpoint } from './webhook-data.ts'

/** Makes a new signing secret and shows it once. */
const Rotate = ({ endpoint }: { endpoint: Endpoint }) => {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const [overlap, setOverlap] = useState('24')
  const [secret, setSecret] = useState<string>()
  const rotate = async () => {
    const body = { id: endpoint.id, overlap_hours: Number(overlap) }
    const rotated = await unwrap(api.POST('/api/internal/webhooks/rotate', { body }))
    setSecret(rotated.secret)
    await client.invalidateQueries({ queryKey: ['webhooks'] })
  }
  return (
    <>
      <Section
        title={webhooks.rotate}
        description={webhooks.rotateHelp}
        actions={
          <Button gate="requireDeveloperSession" onClick={() => setAsking(true)}>
            {webhooks.rotate}
          </Button>
        }
      />
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={webhooks.rotateTitle}
        action={webhooks.rotate}
        danger={overlap === '0'}
        onConfirm={rotate}
      >
        <Field label={webhooks.overlap}>
          <Select
            value={overlap}
            onValue={setOverlap}
            options={Object.entries(webhooks.overlaps).map(([value, label]) => ({ value, label }))}
          />
        </Field>
      </ConfirmDialog>
      <Dialog open={secret !== undefined} onClose={() => setSecret(undefined)} title={webhooks.created} locked>
        <div className="mt-4">
          <SecretOnce
            name={webhooks.secretName}
            secret={secret ?? ''}
            fileName="webhook-secret.txt"
            onStored={() => setSecret(undefined)}
          />
        </div>
      </Dialog>
    </>
  )
}

const Remove = ({ endpoint, onRemoved }: { endpoint: Endpoint; onRemoved: () => void }) => {
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const remove = async () => {
    await unwrap(api.DELETE('/api/internal/webhooks', { params: { query: { id: endpoint.id } } }))
    onRemoved()
    toast(webhooks.removed)
    await refreshWithout(client, ['webhooks'], endpoint.id)
  }
  return (
    <>
      <Section
        danger
        title={webhooks.remove}
        description={webhooks.removeHelp}
        actions={
          <Button look="danger" gate="requireDeveloperSession" onClick={() => setAsking(true)}>
            {webhooks.remove}
          </Button>
        }
      />
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={webhooks.removeTitle}
        action={webhooks.remove}
        typed={new URL(endpoint.url).host}
        onConfirm={remove}
      >
        {webhooks.removeHelp}
      </ConfirmDialog>
    </>
  )
}

export const EndpointDangers = (props: { endpoint: Endpoint; onRemoved: () => void }) => (
  <div className="flex flex-col gap-4">
    <Rotate endpoint={props.endpoint} />
    <Remove {...props} />
  </div>
)
