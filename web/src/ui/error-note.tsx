import { TriangleAlert } from 'lucide-react'
import { ApiError, messageOf } from '../api/api-error.ts'
import { ui } from '../strings/ui.ts'
import { CopyButton } from './copy-button.tsx'

/** What happened, in the words of the service, and the id under which it logged the request. */
export const ErrorNote = ({ error, title }: { error: unknown; title?: string }) => {
  if (!error) return null
  // Fields that the form does not have.
  const fields = error instanceof ApiError ? error.fields : []
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <div role="alert" className="flex gap-2 rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-sm">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0">
        {title && <div className="font-medium">{title}</div>}
        <div>{messageOf(error)}</div>
        {fields.length > 0 && (
          <ul className="list-disc pl-4">
            {fields.map(({ path, message }) => (
              <li key={`${path.join('.')} ${message}`}>
                <span className="font-mono">{path.join('.')}</span>: {message}
              </li>
            ))}
          </ul>
        )}
        {requestId && (
          <div className="mt-1 flex items-center gap-1 text-muted text-xs">
            {ui.requestId} <span className="truncate font-mono">{requestId}</span>
            <CopyButton text={requestId} label={ui.copyRequestId} />
          </div>
        )}
      </div>
    </div>
  )
}
