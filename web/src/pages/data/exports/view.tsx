import { api, unwrap } from '../../../api/client.ts'
import { exportsPage } from '../../../strings/data.ts'
import { Button } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import { Page } from '../../../ui/templates.tsx'
import { usePages } from '../../../ui/use-pages.ts'
import { useSave } from '../../../ui/use-save.ts'
import { columns } from './columns.tsx'

const key = ['export-jobs']

const ExportsPage = () => {
  const load = (cursor: string | undefined) =>
    unwrap(api.GET('/api/internal/org/export/jobs', { params: { query: { cursor } } }))
  // The progress of a job shows by itself.
  const list = usePages(key, load, { refetchInterval: 3_000 })
  const form = useSave(() => unwrap(api.POST('/api/internal/org/export/async')), {
    message: exportsPage.started,
    refreshes: [key],
  })
  const button = (
    <Button look="primary" busy={form.busy} gate="requireOwnerSession" onClick={() => form.save()}>
      {exportsPage.start}
    </Button>
  )
  const isEmpty = list.rows?.length === 0
  return (
    <Page title={exportsPage.title} description={exportsPage.description} actions={isEmpty ? undefined : button}>
      <ErrorNote error={form.rest} />
      <ListTable
        label={exportsPage.title}
        list={list}
        columns={columns}
        empty={
          <EmptyState title={exportsPage.empty} action={button}>
            {exportsPage.emptyHelp}
          </EmptyState>
        }
      />
    </Page>
  )
}

export default ExportsPage
