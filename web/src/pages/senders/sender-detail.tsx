import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { senders } from '../../strings/senders.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DetailList } from '../../ui/detail-list.tsx'
import { toast, toastError } from '../../ui/toasts.tsx'
import { refreshWithout } from '../../ui/use-opened.ts'
import { fieldsOf, valuesOf } from './form-fields.tsx'
import { GuidedForm } from './guided-form.tsx'
import type { SenderKind, SenderRow } from './sender-kind.ts'
import { SenderStatus } from './sender-status.tsx'

type Props<Row extends SenderRow> = { kind: SenderKind<Row>; row: Row; onDeleted: () => void }

/** The fields that the registry wants, by the names that the form gives them. */
const Missing = <Row extends SenderRow>({ kind, row }: Pick<Props<Row>, 'kind' | 'row'>) => {
  const fields = fieldsOf(kind.useGroups()(valuesOf(row)))
  const names = kind.missingOf?.(row) ?? []
  if (names.length === 0) return null
  return (
    <div role="alert" className="rounded-md border border-warn/50 bg-warn-soft px-3 py-2 text-sm">
      <div className="font-medium">{senders.missing}</div>
      <ul className="list-disc pl-5">
        {names.map((name) => (
          <li key={name}>{fields.find((field) => field.name === name)?.label ?? name}</li>
        ))}
      </ul>
      {kind.change && <p>{senders.missingHelp}</p>}
    </div>
  )
}

const Edit = <Row extends SenderRow>({ kind, row }: Pick<Props<Row>, 'kind' | 'row'>) => {
  const client = useQueryClient()
  const groupsFor = kind.useGroups()
  const { change } = kind
  if (!change || kind.canChange?.(row) === false) return null
  const before = valuesOf(row)
  // A draft belongs to the version that it changes.
  const version = before.updated_at ?? ''
  const save = async (body: Record<string, unknown>) => {
    await change(row.id, body)
    toast(senders.saved(kind.labelOf(row)))
    await client.invalidateQueries({ queryKey: ['senders'] })
  }
  return (
    <div className="border-t pt-4">
      <GuidedForm
        label={senders.edit}
        key={version}
        draft={`${kind.key}-${row.id}-${version}`}
        gate={kind.gate}
        before={before}
        groups={(values) =>
          groupsFor(values).map((group) => ({ ...group, fields: group.fields.filter((field) => !field.fixed) }))
        }
        onSubmit={save}
      />
    </div>
  )
}

export const SenderDetail = <Row extends SenderRow>({ kind, row, onDeleted }: Props<Row>) => {
  const client = useQueryClient()
  const [asked, setAsked] = useState(false)
  const [busy, setBusy] = useState(false)
  const label = kind.labelOf(row)
  const refresh = () => client.invalidateQueries({ queryKey: ['senders'] })
  const check = async () => {
    setBusy(true)
    try {
      toast(senders.checked((await kind.check?.(row.id))?.status ?? ''))
      await refresh()
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  const remove = async () => {
    await kind.remove(row.id)
    toast(senders.deleted(label))
    onDeleted()
    await refreshWithout(client, ['senders'], row.id)
  }
  const reason = row.status_reason ?? row.rejection_reason
  return (
    <div className="flex flex-col gap-5">
      <DetailList
        facts={[
          ...(row.status ? [{ name: senders.status, value: <SenderStatus status={row.status} /> }] : []),
          ...(reason ? [{ name: senders.reason, value: reason }] : []),
          { name: senders.id, value: <Copyable text={row.id} /> },
          ...kind.facts(row),
        ]}
      />
      <Missing kind={kind} row={row} />
      <Edit kind={kind} row={row} />
      <div className="flex flex-wrap gap-2 border-t pt-4">
        {kind.check && (
          <Button gate={kind.gate} busy={busy} onClick={() => void check()}>
            {senders.check}
          </Button>
        )}
        <Button look="danger" gate={kind.gate} reason={kind.kept?.(row)} onClick={() => setAsked(true)}>
          {senders.delete}
        </Button>
      </div>
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={senders.deleteTitle(label)}
        action={senders.delete}
        typed={label}
        onConfirm={remove}
      >
        {kind.deleteHelp}
      </ConfirmDialog>
    </div>
  )
}
