import type { ReactNode } from 'react'
import { useDocumentTitle } from '../../ui/templates.tsx'

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

/** A form of such a page. Its button spans the column. */
export const PublicForm = ({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) => (
  <form
    noValidate
    className="flex flex-col gap-4"
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
  </form>
)

export const textLink = 'font-medium text-accent underline-offset-2 hover:underline'
