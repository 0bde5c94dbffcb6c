import { useQueryClient } from '@tanstack/react-query'
import { useMode } from '../../shell/mode.ts'
import { senders } from '../../strings/senders.ts'
import { Button } from '../../ui/button.tsx'
import { Drawer } from '../../ui/drawer.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { OpenedDetail } from '../../ui/opened-detail.tsx'
import { Table } from '../../ui/table.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { useOpened } from '../../ui/use-opened.ts'
import { usePages } from '../../ui/use-pages.ts'
import { GuidedForm } from './guided-form.tsx'
import { SenderDetail } from './sender-detail.tsx'
import type { SenderKind, SenderRow } from './sender-kind.ts'

const CreateForm = <Row extends SenderRow>({ kind, onDone }: { kind: SenderKind<Row>; onDone: (row: Row) => void }) => {
  const client = useQueryClient()
  const groups = kind.useGroups()
  const create = async (body: Record<string, unknown>) => {
    const row = await kind.add(body)
    toast(senders.saved(kind.labelOf(row)))
    await client.invalidateQueries({ queryKey: ['senders'] })
    onDone(row)
  }
  return <GuidedForm label={kind.create} draft={kind.key} gate={kind.gate} groups={groups} onSubmit={create} />
}

/** Opens the form of the list. It belongs into the header of the page. */
export const CreateButton = ({ kind }: { kind: Pick<SenderKind<SenderRow>, 'gate' | 'liveOnly' | 'create'> }) => {
  const mode = useMode()
  const [, change] = useFilters({ open: '' })
  return (
    <Button
      look="primary"
      gate={kind.gate}
      reason={kind.liveOnly && mode === 'test' ? senders.liveOnly : undefined}
      onClick={() => change({ open: 'new' })}
    >
      {kind.create}
    </Button>
  )
}

/** The list of one kind of sender. The URL has what is open: `new`, or the id of a row. */
export const SenderList = <Row extends SenderRow>({ kind }: { kind: SenderKind<Row> }) => {
  const mode = useMode()
  const [{ open }, change] = useFilters({ open: '' })
  const { rows, error, more } = usePages(['senders', kind.key, mode], (cursor) => kind.load(cursor, mode))
  const openId = open === 'new' ? '' : open
  const opened = useOpened(['senders', kind.key], kind.read, { id: openId, rows })
  const close = () => change({ open: '' })
  return (
    <div className="flex flex-col gap-4">
      <ErrorNote error={error} />
      {!error && (
        <Table
          label={kind.title}
          columns={kind.columns}
          rows={rows}
          rowKey={({ id }) => id}
          openKey={open}
          onOpen={({ id }) => change({ open: id })}
          more={more}
          empty={
            <EmptyState title={kind.empty.title} {...(kind.empty.curl && { curl: kind.empty.curl })}>
              {kind.empty.help}
            </EmptyState>
          }
        />
      )}
      <Drawer open={open === 'new'} onClose={close} title={kind.create}>
        {open === 'new' && <CreateForm kind={kind} onDone={({ id }) => change({ open: id })} />}
      </Drawer>
      <Drawer open={openId !== ''} onClose={close} title={opened.row ? kind.labelOf(opened.row) : kind.title}>
        <OpenedDetail opened={opened} goneText={senders.gone}>
          {(row) => <SenderDetail key={row.id} kind={kind} row={row} onDeleted={close} />}
        </OpenedDetail>
      </Drawer>
    </div>
  )
}
