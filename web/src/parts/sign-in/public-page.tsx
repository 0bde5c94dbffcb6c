import type { ReactNode } from 'react'
import { Button } from '../../ui/button.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { useDocumentTitle } from '../../ui/templates.tsx'
import type { FormState } from '../../ui/use-save.ts'

type Props = { title: string; description?: ReactNode; children: ReactNode; footer?: ReactNode }

/** The frame of pages without a session: one narrow column. */
export const PublicPage = ({ title, description, children, footer }: Props) => {
  useDocumentTitle(title)
  return (
    <main className="flex min-h-full flex-col items-center bg-surface px-4 pt-[12vh] pb-10">
      <img src="/favicon.svg" alt="" className="mb-6 size-9" />
      <div className="w-full max-w-sm rounded-md border bg-raised p-6">
        <h1 className="font-semibold text-lg">{title}</h1>
        {description && <p className="mt-1 text-muted text-sm">{description}</p>}
        <div className="mt-5 flex flex-col gap-4">{children}</div>
      </div>
      {footer && <div className="mt-4 text-muted text-sm">{footer}</div>}
    </main>
  )
}

type FormProps = {
  onSubmit: () => void
  form?: Pick<FormState, 'busy' | 'rest'>
  /** Why it failed. Default: a note with the error. */
  error?: ReactNode
  /** What the button says, which spans the column. */
  action: string
  autoFocus?: boolean
  children?: ReactNode
  /** Below the button. */
  more?: ReactNode
}

/** A form of such a page. */
export const PublicForm = ({ onSubmit, form, error, action, autoFocus, children, more }: FormProps) => (
  <form
    noValidate
    className="flex flex-col gap-4"
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
    {error ?? <ErrorNote error={form?.rest} />}
    <Button type="submit" look="primary" autoFocus={autoFocus} busy={form?.busy}>
      {action}
    </Button>
    {more}
  </form>
)

export const textLink = 'font-medium text-accent underline-offset-2 hover:underline'
