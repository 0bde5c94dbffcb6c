import { X } from 'lucide-react'
import { useRef } from 'react'
import { compose } from '../../../strings/compose.ts'
import { IconButton } from '../../../ui/button.tsx'
import { byteSize } from '../../../ui/byte-size.ts'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { filesFault, totalOf } from './attached-files.ts'

type Props = { files: readonly File[]; onFiles: (files: File[]) => void; error: string | undefined }

/** Files are added one after the other or together, and removed one by one. */
export const FileField = ({ files, onFiles, error }: Props) => {
  const input = useRef<HTMLInputElement>(null)
  const remove = (index: number) => {
    onFiles(files.toSpliced(index, 1))
    // The button that had the focus is gone.
    input.current?.focus()
  }
  return (
    <div className="flex flex-col gap-2">
      <Field label={compose.files} optional help={compose.filesHelp} error={filesFault(files) ?? error}>
        <Input
          ref={input}
          type="file"
          multiple
          className="h-auto py-1"
          onChange={(event) => {
            onFiles([...files, ...(event.target.files ?? [])])
            // The same file can then be chosen again after it was removed.
            event.target.value = ''
          }}
        />
      </Field>
      {files.length > 0 && (
        <ul
          aria-label={compose.filesTotal(files.length, byteSize(totalOf(files)))}
          className="divide-y rounded-md border"
        >
          {files.map((file, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two files can have the same name
            <li key={index} className="flex items-center gap-2 py-0.5 pr-1 pl-3 text-sm">
              <span className="min-w-0 flex-1 truncate">{file.name}</span>
              <span className="shrink-0 text-muted text-xs tabular-nums">{byteSize(file.size)}</span>
              <IconButton
                label={compose.removeFile(file.name)}
                icon={<X aria-hidden className="size-4" />}
                onClick={() => remove(index)}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
