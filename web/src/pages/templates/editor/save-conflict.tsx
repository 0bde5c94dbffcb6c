import type { Template } from '../../../parts/template-data.ts'
import { editor } from '../../../strings/templates.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { useSave } from '../../../ui/use-save.ts'

type Props = {
  /** The version that somebody else saved, if there is one. */
  saved: Template | undefined
  onClose: () => void
  onReload: (saved: Template) => void
  onOverwrite: (saved: Template) => Promise<void>
}

/** A second person saved the template. Nothing is overwritten before this one has decided. */
export const SaveConflict = ({ saved, onClose, onReload, onOverwrite }: Props) => {
  const form = useSave(onOverwrite)
  return (
    <Dialog open={saved !== undefined} onClose={onClose} title={editor.conflictTitle}>
      {saved && (
        <div className="flex flex-col gap-4 text-sm">
          <p>
            {editor.conflict} {editor.conflictAt} <RelativeTime at={saved.updated_at} />.
          </p>
          <p className="text-muted">{editor.conflictHelp}</p>
          <ErrorNote error={form.error} />
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={onClose}>{editor.keepEditing}</Button>
            <Button onClick={() => onReload(saved)}>{editor.reload}</Button>
            <Button look="danger" busy={form.busy} onClick={() => form.save(saved)}>
              {editor.overwrite}
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  )
}
