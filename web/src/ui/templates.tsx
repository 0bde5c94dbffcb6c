/** The layouts of pages. Every page is one of these, so that they look and behave alike. */
import { type ReactNode, useEffect, useRef } from 'react'
import { ui } from '../strings/ui.ts'
import { classes } from './classes.ts'
import { ErrorNote } from './error-note.tsx'
import { pageClasses } from './page-classes.ts'
import { useWrongFields, WrongFields } from './wrong-fields.tsx'

type Width = 'wide' | 'form'

type PageProps = {
  title: ReactNode
  /** For the title of the browser's tab, when `title` is not text. */
  documentTitle?: string
  description?: ReactNode
  /** The main action, at the right of the title. */
  actions?: ReactNode
  width?: Width
  children: ReactNode
}

export const useDocumentTitle = (title: string | undefined): void => {
  useEffect(() => {
    if (title) document.title = `${title} · Tidings`
  }, [title])
}

export const Page = ({ title, documentTitle, description, actions, width = 'wide', children }: PageProps) => {
  useDocumentTitle(documentTitle ?? (typeof title === 'string' ? title : undefined))
  return (
    <div className={pageClasses}>
      <div className={width === 'form' ? 'max-w-3xl' : ''}>
        <header className="flex min-h-8 flex-wrap items-center justify-between gap-x-4 gap-y-2">
          <h1 className="min-w-0 truncate font-semibold text-lg">{title}</h1>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
        {description && <p className="mt-1 max-w-2xl text-muted text-sm">{description}</p>}
        <div className="mt-4 flex flex-col gap-4">{children}</div>
      </div>
    </div>
  )
}

/** The bar of filters above a list. */
export const FilterBar = ({ children }: { children: ReactNode }) => (
  <search className="flex flex-wrap items-center gap-2">{children}</search>
)

type SectionProps = {
  title: ReactNode
  description?: ReactNode
  actions?: ReactNode
  children?: ReactNode
  danger?: boolean
}

/** A bordered part of a detail or settings page. Dangerous actions have one of their own, at the bottom. */
export const Section = ({ title, description, actions, children, danger }: SectionProps) => (
  <section className={`rounded-md border ${danger ? 'border-bad/40' : ''}`}>
    <header className="flex flex-wrap items-start justify-between gap-3 px-4 py-3">
      <div className="min-w-0">
        <h2 className="font-semibold text-base">{title}</h2>
        {description && <p className="mt-0.5 max-w-xl text-muted text-sm">{description}</p>}
      </div>
      {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
    </header>
    {children && <div className="border-t px-4 py-4">{children}</div>}
  </section>
)

type FormProps = {
  onSubmit: () => void
  /** What belongs to no field. */
  error?: unknown
  /** Why the last attempt failed, wherever it is shown. The first wrong field then gets the focus. */
  failure?: unknown
  /** Lists the wrong fields at the buttons under this title, for a form that is longer than a screen. */
  wrongTitle?: string
  /** The submit button, and others. */
  actions: ReactNode
  children: ReactNode
  label?: string
  /** As wide as the page, for long texts. */
  wide?: boolean
  /** In a dialog: the buttons stay in view while the fields are scrolled. */
  pinned?: boolean
}

/** Over the padding of the dialog. */
const pinnedClasses = 'sticky -bottom-5 z-10 -mx-5 -mb-5 border-t bg-raised px-5 py-3'

/** One column of fields. The service words the errors: those of a field next to it, all others above the buttons. */
export const Form = ({ onSubmit, error, failure, wrongTitle, actions, children, label, wide, pinned }: FormProps) => {
  const form = useRef<HTMLFormElement>(null)
  const wrong = useWrongFields(form, failure)
  return (
    <form
      ref={form}
      noValidate
      aria-label={label}
      className={`flex flex-col gap-4 ${wide ? '' : 'max-w-md'}`}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      {wrongTitle && <WrongFields title={wrongTitle} fields={wrong} />}
      <ErrorNote error={error} />
      <div className={classes('flex items-center gap-2', pinned && pinnedClasses)}>{actions}</div>
    </form>
  )
}

export type WizardStep = { id: string; title: string; done: boolean; href: string }

type WizardProps = { steps: readonly WizardStep[]; current: string; summary?: ReactNode; children: ReactNode }

/** On a phone the steps are in a row that is wider than the screen. The current one is moved into view. */
const useCurrentInView = (current: string) => {
  const list = useRef<HTMLOListElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the step moves the row
  useEffect(() => {
    const row = list.current
    const step = row?.querySelector<HTMLElement>('[aria-current]')
    if (!row || !step) return
    const [frame, place] = [row.getBoundingClientRect(), step.getBoundingClientRect()]
    row.scrollLeft += place.left - frame.left - (frame.width - place.width) / 2
  }, [current])
  return list
}

/** Steps at the left, the form in the middle, and at the right what has been chosen so far. Each step has its own URL. */
export const Wizard = ({ steps, current, summary, children }: WizardProps) => (
  <div className="grid grid-cols-[minmax(0,1fr)] gap-6 lg:grid-cols-[180px_minmax(0,1fr)_240px]">
    <ol ref={useCurrentInView(current)} aria-label="Steps" className="flex gap-4 overflow-x-auto lg:flex-col lg:gap-1">
      {steps.map(({ id, title, done, href }, index) => (
        <li key={id}>
          <a
            href={href}
            aria-current={id === current ? 'step' : undefined}
            className="flex items-center gap-2 whitespace-nowrap rounded-md px-2 py-1 text-muted text-sm hover:bg-hover aria-[current]:font-medium aria-[current]:text-text"
          >
            <span className="flex size-5 items-center justify-center rounded-full border text-xs">
              {done ? '✓' : index + 1}
            </span>
            {title}
          </a>
        </li>
      ))}
    </ol>
    <div className="min-w-0">{children}</div>
    {summary && (
      <aside aria-label={ui.summary} className="self-start rounded-md border bg-surface p-4 text-sm">
        {summary}
      </aside>
    )}
  </div>
)
