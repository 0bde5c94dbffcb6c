import { api, unwrap } from '../../../api/client.ts'
import { audiences, contacts } from '../../../strings/audiences.ts'
import { Button } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { ContactDialog } from '../contact-dialog.tsx'
import { ContactDrawer } from '../contact-drawer.tsx'
import type { ContactFields } from '../contact-form.tsx'
import { ContactTable } from '../contact-table.tsx'
import { labelOf } from '../use-contacts.ts'

export const ContactsTab = () => {
  const [{ q, contact, open }, change] = useFilters({ q: '', contact: '', open: '' })
  const create = async (body: ContactFields) => {
    toast(contacts.created(labelOf(await unwrap(api.POST('/api/internal/contacts', { body })))))
  }
  const button = (
    <Button look="primary" gate="requireDeveloperSession" onClick={() => change({ open: 'contact' })}>
      {contacts.create}
    </Button>
  )
  return (
    <>
      <ContactTable
        label={audiences.contacts}
        q={q}
        onSearch={(text) => change({ q: text })}
        openId={contact}
        onOpen={(id) => change({ contact: id })}
        actions={button}
        empty={
          <EmptyState title={contacts.empty} curl={contacts.curl}>
            {contacts.emptyHelp}
          </EmptyState>
        }
      />
      <ContactDrawer id={contact} onClose={() => change({ contact: '' })} />
      <ContactDialog
        open={open === 'contact'}
        title={contacts.create}
        onClose={() => change({ open: '' })}
        onSubmit={create}
      />
    </>
  )
}
