import { type ErrorComponentProps, Link } from '@tanstack/react-router'
import { shell } from '../strings/shell.ts'
import { Button, buttonClasses } from '../ui/button.tsx'
import { ErrorNote } from '../ui/error-note.tsx'
import { Page } from '../ui/templates.tsx'
import { NotLoaded } from './load-view.ts'

export const PageError = ({ error, reset }: ErrorComponentProps) => (
  <Page title={shell.pageFailed} width="form">
    <ErrorNote error={error} />
    <div>
      <Button onClick={error instanceof NotLoaded ? () => location.reload() : reset}>{shell.tryAgain}</Button>
    </div>
  </Page>
)

export const NotFound = () => (
  <main>
    <Page title={shell.notFound} width="form" description={shell.notFoundWhy}>
      <div>
        <Link to="/" className={buttonClasses('secondary')}>
          {shell.toOverview}
        </Link>
      </div>
    </Page>
  </main>
)
