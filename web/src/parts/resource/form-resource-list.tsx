import { useMode } from '../../api/mode.ts'
import { senders } from '../../strings/senders.ts'
import { Button } from '../../ui/button.tsx'
import { Drawer } from '../../ui/drawer.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ResourceList } from '../../ui/resource-list.tsx'
import { Page } from '../../ui/templates.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { type FormResource, type FormRow, formsKey } from './form-resource.ts'
import { FormResourceDetail } from './form-resource-detail.tsx'
import { GuidedForm } from './guided-form.tsx'

type CreateProps<Row extends FormRow> = { resource: FormResource<Row>; onCreated: (row: Row) => void }

const CreateForm = <Row extends FormRow>({ resource, onCreated }: CreateProps<Row>) => (
  <GuidedForm
    label={resource.create}
    draft={resource.name}
    gate={resource.gate}
    groups={resource.useGroups()}
    work={resource.add}
    message={(row) => senders.saved(resource.titleOf(row))}
    refreshes={[formsKey]}
    onSaved={onCreated}
  />
)

type ButtonProps = { resource: Pick<FormResource<FormRow>, 'gate' | 'liveOnly' | 'create'> }

/** Opens the form of the list. It belongs into the header of the page. */
export const CreateButton = ({ resource: { gate, liveOnly, create } }: ButtonProps) => {
  const mode = useMode()
  const [, change] = useFilters({ open: '' })
  const reason = liveOnly && mode === 'test' ? senders.liveOnly : undefined
  return (
    <Button look="primary" gate={gate} reason={reason} onClick={() => change({ open: 'new' })}>
      {create}
    </Button>
  )
}

/** The list of a resource with its forms. The URL has what is open: `new`, or the id of a row. */
export const FormResourceList = <Row extends FormRow>({ resource }: { resource: FormResource<Row> }) => {
  const [{ open }, change] = useFilters({ open: '' })
  const close = () => change({ open: '' })
  const { name, create, empty } = resource
  return (
    <div className="flex flex-col gap-4">
      <ResourceList
        resource={{ ...resource, key: [...formsKey, name], gone: senders.gone }}
        open={open === 'new' ? '' : open}
        onOpen={(id) => change({ open: id })}
        onClose={close}
        empty={
          <EmptyState title={empty.title} {...(empty.curl && { curl: empty.curl })}>
            {empty.help}
          </EmptyState>
        }
      >
        {(row) => <FormResourceDetail key={row.id} resource={resource} row={row} onDeleted={close} />}
      </ResourceList>
      <Drawer open={open === 'new'} onClose={close} title={create}>
        {open === 'new' && <CreateForm resource={resource} onCreated={({ id }) => change({ open: id })} />}
      </Drawer>
    </div>
  )
}

type PageProps<Row extends FormRow> = { resource: FormResource<Row>; help: string }

/** A page that has nothing but the list. */
export const FormResourcePage = <Row extends FormRow>({ resource, help }: PageProps<Row>) => (
  <Page title={resource.title} description={help} actions={<CreateButton resource={resource} />}>
    <FormResourceList resource={resource} />
  </Page>
)
