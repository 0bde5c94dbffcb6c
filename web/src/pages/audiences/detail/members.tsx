import { useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { audiences } from '../../../strings/audiences.ts'
import { Button } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { toast, toastError } from '../../../ui/toasts.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { ContactDialog } from '../contact-dialog.tsx'
import { ContactDrawer } from '../contact-drawer.tsx'
import type { ContactFields } from '../contact-form.tsx'
import { ContactTable } from '../contact-table.tsx'
import { type Contact, labelOf } from '../use-contacts.ts'

const path = '/api/internal/audiences/{id}/contacts' as const

const useMembership = (id: string, onRemoved: () => void) => {
  const client = useQueryClient()
  const refresh = () =>
    Promise.all([['contacts'], ['audiences']].map((queryKey) => client.invalidateQueries({ queryKey })))
  const link = async (contact: Contact) => {
    await unwrap(api.POST(path, { params: { path: { id } }, body: { contact_id: contact.id } }))
    await refresh()
  }
  const remove = async (contact: Contact) => {
    try {
      await unwrap(api.DELETE(path, { params: { path: { id }, query: { id: contact.id } } }))
      onRemoved()
      toast(audiences.removed(labelOf(contact)), { undo: () => void link(contact).catch(toastError) })
      await refresh()
    } catch (error) {
      toastError(error)
    }
  }
  const add = async (body: ContactFields) => {
    toast(audiences.added(labelOf(await unwrap(api.POST(path, { params: { path: { id } }, body })))))
  }
  return { add, remove }
}

export const AudienceMembers = ({ id }: { id: string }) => {
  const [{ q, contact, open }, change] = useFilters({ q: '', contact: '', open: '' })
  const close = () => change({ contact: '' })
  const { add, remove } = useMembership(id, close)
  return (
    <>
      <ContactTable
        label={audiences.members}
        audienceId={id}
        q={q}
        onSearch={(text) => change({ q: text })}
        openId={contact}
        onOpen={(opened) => change({ contact: opened })}
        actions={
          <Button look="primary" gate="requireDeveloperSession" onClick={() => change({ open: 'contact' })}>
            {audiences.addMember}
          </Button>
        }
        empty={
          <EmptyState title={audiences.noMembers} curl={audiences.curlMember(id)}>
            {audiences.noMembersHelp}
          </EmptyState>
        }
      />
      <ContactDrawer
        id={contact}
        onClose={close}
        actions={(one) => (
          <Button gate="requireDeveloperSession" onClick={() => void remove(one)}>
            {audiences.remove}
          </Button>
        )}
      />
      <ContactDialog
        open={open === 'contact'}
        title={audiences.addMember}
        onClose={() => change({ open: '' })}
        onSubmit={add}
      />
    </>
  )
}
