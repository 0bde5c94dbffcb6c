import { useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { exportsPage } from '../../../strings/data.ts'
import { Button } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Table } from '../../../ui/table.tsx'
import { Page } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { usePages } from '../../../ui/use-pages.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { columns } from './columns.tsx'

const key = ['export-jobs']

const ExportsPage = () => {
  const client = useQueryClient()
  const form = useSubmit()
  const load = (cursor: string | undefined) =>
    unwrap(api.GET('/api/internal/org/export/jobs', { params: { query: { ...(cursor && { cursor }) } } }))
  // The progress of a job shows by itself.
  const list = usePages(key, load, { refetchInterval: 3_000 })
  const start = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/internal/org/export/async'))
      toast(exportsPage.started)
      await client.invalidateQueries({ queryKey: key })
    })
  const button = (
    <Button look="primary" busy={form.busy} gate="requireOwnerSession" onClick={start}>
      {exportsPage.start}
    </Button>
  )
  const isEmpty = list.rows?.length === 0
  return (
    <Page title={exportsPage.title} description={exportsPage.description} actions={isEmpty ? undefined : button}>
      <ErrorNote error={form.rest ?? list.error} />
      {!list.error && (
        <Table
          label={exportsPage.title}
          columns={columns}
          rows={list.rows}
          rowKey={({ id }) => id}
          more={list.more}
          empty={
            <EmptyState title={exportsPage.empty} action={button}>
              {exportsPage.emptyHelp}
            </EmptyState>
          }
        />
      )}
    </Page>
  )
}

export default ExportsPage
