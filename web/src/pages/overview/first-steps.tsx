import { Link } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import { useUser } from '../../api/session.ts'
import { overview } from '../../strings/overview.ts'
import { buttonClasses } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { curl } from '../../ui/curl.ts'
import { ErrorNote } from '../../ui/error-note.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Section } from '../../ui/templates.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { type Progress, type StepName, useProgress } from './first-steps-data.ts'

type StepProps = { done: boolean; title: string; help: string; children?: ReactNode }

/** A finished step is one line; an open one says what to do. */
const Step = ({ done, title, help, children }: StepProps) => (
  <li className="flex gap-3 border-b py-3 first:pt-0 last:border-b-0 last:pb-0">
    <span
      aria-hidden
      className={`mt-0.5 flex size-5 shrink-0 items-center justify-center rounded-full border ${done ? 'border-transparent bg-ok-soft text-ok' : 'border-line-strong'}`}
    >
      {done && <Check className="size-3.5" />}
    </span>
    <div className="flex min-w-0 flex-1 flex-col gap-2">
      <div className={done ? 'text-muted text-sm' : 'font-medium text-sm'}>
        {title}
        {done && <span className="sr-only">: {overview.done}</span>}
      </div>
      {!done && <p className="text-muted text-sm">{help}</p>}
      {!done && children}
    </div>
  </li>
)

const Go = ({ to, search, children }: { to: string; search?: Record<string, string>; children: string }) => (
  <div>
    <Link to={to} search={search ?? {}} className={buttonClasses('secondary')}>
      {children}
    </Link>
  </div>
)

const firstMessage = (sender: string, to: string): string =>
  curl('POST', '/emails', {
    from: `hello@${sender}`,
    to: [to],
    subject: 'Hello',
    html: '<h1>Hello</h1><p>This is my first message.</p>',
  })

const Steps = ({ progress }: { progress: Progress }) => {
  const { email } = useUser()
  const { steps: words } = overview
  const isDone = (name: StepName): boolean => progress.done.includes(name)
  return (
    <ol aria-label={overview.stepsTitle}>
      <Step {...words.key} done={isDone('create_api_key')}>
        <Go to="/api-keys" search={{ create: '1' }}>
          {words.key.action}
        </Go>
      </Step>
      <Step
        title={words.message.title}
        help={progress.sandbox ? words.message.sandbox : words.message.help}
        done={isDone('send_message')}
      >
        <CodeBlock label="curl" code={firstMessage(progress.sender, email)} />
        <Go to="/messages/new">{words.message.action}</Go>
      </Step>
      <Step {...words.sent} done={isDone('see_it_sent')}>
        <Go to="/messages">{words.sent.action}</Go>
      </Step>
      <Step
        title={words.domain.title}
        help={progress.domain_waits ? words.domain.waiting : words.domain.help}
        done={isDone('verify_domain')}
      >
        {progress.domain_waits ? (
          <Go to="/domains">{overview.open}</Go>
        ) : (
          <Go to="/domains" search={{ create: '1' }}>
            {words.domain.action}
          </Go>
        )}
      </Step>
      <Step {...words.webhook} done={isDone('add_webhook')}>
        <Go to="/webhooks" search={{ create: '1' }}>
          {words.webhook.action}
        </Go>
      </Step>
    </ol>
  )
}

const count = 5

export const FirstSteps = () => {
  const { data: progress, error } = useProgress()
  const [{ steps }, change] = useFilters({ steps: '' })
  if (!progress) {
    return (
      <Section title={overview.stepsTitle}>
        {error ? <ErrorNote error={error} /> : <Skeleton className="h-40 w-full" />}
      </Section>
    )
  }
  const done = progress.done.length
  if (done === count && !steps) {
    return (
      <p className="text-muted text-sm">
        {overview.stepsDone}{' '}
        <button type="button" className="text-accent underline" onClick={() => change({ steps: '1' })}>
          {overview.showSteps}
        </button>
      </p>
    )
  }
  return (
    <Section title={overview.stepsTitle} description={overview.stepsHelp(done, count)}>
      <Steps progress={progress} />
    </Section>
  )
}
