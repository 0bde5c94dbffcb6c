import { api, unwrap } from '../../../api/client.ts'
import { ownData } from '../../../strings/data.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { useSave } from '../../../ui/use-save.ts'

const save = (blob: Blob, fileName: string): void => {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}

const OwnDataPage = () => {
  const form = useSave(() => unwrap(api.POST('/api/internal/user/data-export', { parseAs: 'blob' })), {
    message: ownData.done,
    done: (file: unknown) => save(file as Blob, 'data-export.json'),
  })
  return (
    <Page title={ownData.title} description={ownData.description} width="form">
      <ErrorNote error={form.rest} />
      <Section
        title={ownData.section}
        description={ownData.help}
        actions={
          <Button look="primary" busy={form.busy} onClick={() => form.save()}>
            {ownData.download}
          </Button>
        }
      />
    </Page>
  )
}

export default OwnDataPage
