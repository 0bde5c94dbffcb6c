import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useRefusal } from '../../api/can.ts'
import { api, unwrap } from '../../api/client.ts'
import { contacts } from '../../strings/audiences.ts'
import { ConfirmButton } from '../../ui/confirm-dialog.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DetailList } from '../../ui/detail-list.tsx'
import { Drawer } from '../../ui/drawer.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { toast } from '../../ui/toasts.tsx'
import { type ContactFields, ContactForm } from './contact-form.tsx'
import { type Contact, labelOf } from './use-contacts.ts'

const Facts = ({ contact }: { contact: Contact }) => (
  <DetailList
    facts={[
      { name: contacts.id, value: <Copyable text={contact.id} /> },
      { name: contacts.createdAt, value: <RelativeTime at={contact.created_at} /> },
      ...(contact.tenant_id ? [{ name: contacts.tenant, value: <Copyable text={contact.tenant_id} /> }] : []),
    ]}
  />
)

const ReadOnly = ({ contact }: { contact: Contact }) => (
  <DetailList
    facts={[
      { name: contacts.email, value: contact.email },
      { name: contacts.name, value: contact.name },
      { name: contacts.phone, value: contact.phone },
      ...Object.entries(contact.metadata).map(([name, value]) => ({ name, value })),
    ]}
  />
)

type Props = { id: string; onClose: () => void; actions?: (contact: Contact) => ReactNode }

export const ContactDrawer = ({ id, onClose, actions }: Props) => {
  const client = useQueryClient()
  const readOnly = useRefusal('requireDeveloperSession') !== undefined
  const { data, error } = useQuery({
    queryKey: ['contacts', 'one', id],
    queryFn: async () => (await unwrap(api.GET('/api/internal/contacts', { params: { query: { id } } }))) as Contact,
    enabled: id !== '',
  })
  const refresh = () => client.invalidateQueries({ queryKey: ['contacts'] })
  const save = async (body: ContactFields) => {
    await unwrap(api.PATCH('/api/internal/contacts', { params: { query: { id } }, body }))
    toast(contacts.saved)
    await refresh()
  }
  const remove = () => unwrap(api.DELETE('/api/internal/contacts', { params: { query: { id } } }))
  return (
    <Drawer open={id !== ''} onClose={onClose} title={data ? labelOf(data) : '…'}>
      <ErrorNote error={error} />
      {!data && !error && <Skeleton className="h-64 w-full" />}
      {data && (
        <div className="flex flex-col gap-6">
          <Facts contact={data} />
          {readOnly ? (
            <ReadOnly contact={data} />
          ) : (
            <ContactForm key={data.id} label={contacts.edit} contact={data} onSubmit={save} />
          )}
          <div className="flex flex-wrap gap-2 border-t pt-4">
            {actions?.(data)}
            <ConfirmButton
              look="danger"
              gate="requireDeveloperSession"
              title={contacts.deleteTitle(labelOf(data))}
              action={contacts.delete}
              onConfirm={remove}
              message={contacts.deleted(data ? labelOf(data) : id)}
              done={async () => {
                onClose()
                await Promise.all([refresh(), client.invalidateQueries({ queryKey: ['audiences'] })])
              }}
            >
              {contacts.deleteHelp}
            </ConfirmButton>
          </div>
        </div>
      )}
    </Drawer>
  )
}
