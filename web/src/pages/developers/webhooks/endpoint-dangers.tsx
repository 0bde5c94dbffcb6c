import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { ConfirmButton, DangerSection } from '../../../ui/confirm-dialog.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { SecretOnce } from '../../../ui/secret-once.tsx'
import { optionsOf } from '../../../ui/select.tsx'
import { Section } from '../../../ui/templates.tsx'
import { SelectField } from '../../../ui/text-field.tsx'
import { type Endpoint, endpoints } from './webhook-data.tsx'

/** Makes a new signing secret and shows it once. */
const Rotate = ({ endpoint }: { endpoint: Endpoint }) => {
  const [overlap, setOverlap] = useState('24')
  const [secret, setSecret] = useState<string>()
  const rotate = () => {
    const body = { id: endpoint.id, overlap_hours: Number(overlap) }
    return unwrap(api.POST('/api/internal/webhooks/rotate', { body }))
  }
  return (
    <>
      <Section
        title={webhooks.rotate}
        description={webhooks.rotateHelp}
        actions={
          <ConfirmButton
            gate="requireDeveloperSession"
            title={webhooks.rotateTitle}
            action={webhooks.rotate}
            danger={overlap === '0'}
            onConfirm={rotate}
            done={(rotated) => setSecret(rotated.secret)}
            refreshes={[endpoints.key]}
          >
            <SelectField
              label={webhooks.overlap}
              value={overlap}
              onValue={setOverlap}
              options={optionsOf(webhooks.overlaps)}
            />
          </ConfirmButton>
        }
      />
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

const Remove = ({ endpoint: { id, url }, onRemoved }: { endpoint: Endpoint; onRemoved: () => void }) => (
  <DangerSection
    help={webhooks.removeHelp}
    gate="requireDeveloperSession"
    title={webhooks.removeTitle}
    action={webhooks.remove}
    typed={new URL(url).host}
    onConfirm={() => unwrap(api.DELETE('/api/internal/webhooks', { params: { query: { id } } }))}
    message={webhooks.removed}
    done={onRemoved}
    refreshes={[endpoints.key]}
    deleted={id}
  />
)

export const EndpointDangers = (props: { endpoint: Endpoint; onRemoved: () => void }) => (
  <div className="flex flex-col gap-4">
    <Rotate endpoint={props.endpoint} />
    <Remove {...props} />
  </div>
)
