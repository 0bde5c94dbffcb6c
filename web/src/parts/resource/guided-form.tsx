import { useEffect, useRef } from 'react'
import { ApiError } from '../../api/api-error.ts'
import type { Gate } from '../../api/can.ts'
import { senders } from '../../strings/senders.ts'
import { SaveForm } from '../../ui/save-form.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { type Afterwards, useSave } from '../../ui/use-save.ts'
import { bodyOf, type FieldGroup, FormField, fieldsOf, missingIn, type Values, valueIn } from './form-fields.tsx'

type Props<Result> = Pick<Afterwards<Result>, 'message' | 'refreshes'> & {
  label: string
  draft: string
  gate: Gate
  /** The fields, which may depend on what is chosen. */
  groups: (values: Values) => readonly FieldGroup[]
  /** The stored values, when something is changed. */
  before?: Values
  work: (body: Record<string, unknown>) => Promise<Result>
  onSaved?: (result: Result) => void
}

/** A short form shows at a glance that it is complete. */
const shortForm = 4

const Needed = ({ names }: { names: readonly string[] }) => (
  <p role="status" className="rounded-md border bg-surface px-3 py-2 text-sm">
    {names.length === 0 ? senders.complete : `${senders.stillNeeded}: ${names.join(', ')}`}
  </p>
)

export const GuidedForm = <Result,>(props: Props<Result>) => {
  const { label, draft: name, gate, groups: groupsFor, before, work, message, refreshes, onSaved } = props
  const draft = useDraft<Values>(name, before ?? {})
  const values = draft.value
  const groups = groupsFor(values)
  const form = useSave(() => work(bodyOf(groups, values, before)), {
    message,
    refreshes,
    done: (result) => {
      draft.forget()
      onSaved?.(result)
    },
  })
  const known = fieldsOf(groups).map((field) => field.name)
  const missing = missingIn(groups, values)
  const foreign =
    form.error instanceof ApiError && !form.error.fields.some(({ path }) => known.includes(String(path[0])))
  const frame = useRef<HTMLDivElement>(null)
  // A long form leads to the first field that the service refused.
  useEffect(() => {
    if (form.error) frame.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [form.error])
  return (
    <div ref={frame}>
      <SaveForm
        label={label}
        onSubmit={form.save}
        error={foreign ? form.error : form.rest}
        failure={form.error}
        form={form}
        gate={gate}
      >
        {groups.map(({ title, fields }) => (
          <fieldset key={title} className="flex flex-col gap-4">
            <legend className="mb-3 font-semibold text-base">{title}</legend>
            {fields.map((field) => (
              <FormField
                key={field.name}
                field={field}
                text={valueIn(values, field)}
                error={form.faultIn(field.name)}
                onText={(text) => draft.change({ [field.name]: text })}
              />
            ))}
          </fieldset>
        ))}
        {(missing.length > 0 || known.length > shortForm) && <Needed names={missing.map((field) => field.label)} />}
      </SaveForm>
    </div>
  )
}
