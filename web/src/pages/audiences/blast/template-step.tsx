import { MailFrame } from '../../../mail/mail-frame.tsx'
import { type Template, useTemplateChoices } from '../../../parts/template-data.ts'
import { blasts } from '../../../strings/blasts.ts'
import { buttonClasses } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PlainText } from '../../../ui/plain-text.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { SelectField } from '../../../ui/text-field.tsx'
import type { StepProps } from './blast-steps.ts'

const Preview = ({ template: { id, subject, html, text, slug } }: { template: Template }) => (
  <section aria-label={blasts.preview} className="flex flex-col gap-2">
    {subject && (
      <p className="text-sm">
        <span className="text-muted">{blasts.subject}: </span>
        {subject}
      </p>
    )}
    {html ? <MailFrame of={id} html={html} title={slug} /> : <PlainText text={text ?? ''} />}
  </section>
)

export const TemplateStep = ({ blast, change }: StepProps) => {
  const { data, error } = useTemplateChoices()
  if (error) return <ErrorNote error={error} />
  if (!data) return <Skeleton className="h-40 w-full" />
  if (data.length === 0) {
    return (
      <div className="flex flex-col items-start gap-3 text-sm">
        <p>{blasts.noTemplates}</p>
        <a href="/templates" className={buttonClasses()}>
          {blasts.newTemplate}
        </a>
      </div>
    )
  }
  const chosen = data.find(({ slug, channel }) => slug === blast.template && channel === blast.channel)
  const choose = (id: string) => {
    const template = data.find((one) => one.id === id)
    change({ template: template?.slug ?? '', channel: template?.channel ?? 'email', variables: {} })
  }
  return (
    <>
      <SelectField
        label={blasts.template}
        help={blasts.templateHelp}
        value={chosen?.id ?? ''}
        onValue={choose}
        options={[
          { value: '', label: blasts.chooseTemplate },
          ...data.map(({ id, slug, channel }) => ({
            value: id,
            label: `${slug} (${blasts.channels[channel]})`,
          })),
        ]}
      />
      {chosen && <Preview template={chosen} />}
    </>
  )
}
