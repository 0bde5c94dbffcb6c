import { senders } from '../../strings/senders.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/confirm-dialog.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DetailList } from '../../ui/detail-list.tsx'
import { toastError } from '../../ui/toasts.tsx'
import { useSave } from '../../ui/use-save.ts'
import { fieldsOf, valuesOf } from './form-fields.tsx'
import { type FormResource, type FormRow, formsKey } from './form-resource.ts'
import { GuidedForm } from './guided-form.tsx'
import { RowStatus } from './row-status.tsx'

type Props<Row extends FormRow> = { resource: FormResource<Row>; row: Row; onDeleted: () => void }

/** The fields that the registry wants, by the names that the form gives them. */
const Missing = <Row extends FormRow>({ resource, row }: Pick<Props<Row>, 'resource' | 'row'>) => {
  const fields = fieldsOf(resource.useGroups()(valuesOf(row)))
  const names = resource.missingOf?.(row) ?? []
  if (names.length === 0) return null
  return (
    <div role="alert" className="rounded-md border border-warn/50 bg-warn-soft px-3 py-2 text-sm">
      <div className="font-medium">{senders.missing}</div>
      <ul className="list-disc pl-5">
        {names.map((name) => (
          <li key={name}>{fields.find((field) => field.name === name)?.label ?? name}</li>
        ))}
      </ul>
      {resource.change && <p>{senders.missingHelp}</p>}
    </div>
  )
}

const Edit = <Row extends FormRow>({ resource, row }: Pick<Props<Row>, 'resource' | 'row'>) => {
  const groupsFor = resource.useGroups()
  const { change } = resource
  if (!change || resource.canChange?.(row) === false) return null
  const before = valuesOf(row)
  // A draft belongs to the version that it changes.
  const version = before.updated_at ?? ''
  return (
    <div className="border-t pt-4">
      <GuidedForm
        label={senders.edit}
        key={version}
        draft={`${resource.name}-${row.id}-${version}`}
        gate={resource.gate}
        before={before}
        groups={(values) =>
          groupsFor(values).map((group) => ({ ...group, fields: group.fields.filter((field) => !field.fixed) }))
        }
        work={(body) => change(row.id, body)}
        message={senders.saved(resource.titleOf(row))}
        refreshes={[formsKey]}
      />
    </div>
  )
}

export const FormResourceDetail = <Row extends FormRow>({ resource, row, onDeleted }: Props<Row>) => {
  const label = resource.titleOf(row)
  const check = useSave(async () => resource.check?.(row.id), {
    message: (checked) => senders.checked(checked?.status ?? ''),
    refreshes: [formsKey],
    failed: toastError,
  })
  const reason = row.status_reason ?? row.rejection_reason
  return (
    <div className="flex flex-col gap-5">
      <DetailList
        facts={[
          ...(row.status ? [{ name: senders.status, value: <RowStatus status={row.status} /> }] : []),
          ...(reason ? [{ name: senders.reason, value: reason }] : []),
          { name: senders.id, value: <Copyable text={row.id} /> },
          ...resource.facts(row),
        ]}
      />
      <Missing resource={resource} row={row} />
      <Edit resource={resource} row={row} />
      <div className="flex flex-wrap gap-2 border-t pt-4">
        {resource.check && (
          <Button gate={resource.gate} busy={check.busy} onClick={() => check.save()}>
            {senders.check}
          </Button>
        )}
        <ConfirmButton
          look="danger"
          gate={resource.gate}
          reason={resource.kept?.(row)}
          title={senders.deleteTitle(label)}
          action={senders.delete}
          typed={label}
          onConfirm={() => resource.remove(row.id)}
          message={senders.deleted(label)}
          done={onDeleted}
          refreshes={[formsKey]}
          deleted={row.id}
        >
          {resource.deleteHelp}
        </ConfirmButton>
      </div>
    </div>
  )
}
