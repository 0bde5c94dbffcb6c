/** Forms that are described by their fields, so that they can say which ones are still needed. */
import type { ReactElement } from 'react'
import { senders } from '../../strings/senders.ts'
import { Checkbox } from '../../ui/checkbox.tsx'
import { Field } from '../../ui/field.tsx'
import { Input, TextArea } from '../../ui/input.tsx'
import { type Option, Select } from '../../ui/select.tsx'

export type Values = Record<string, string>

export type FieldSpec = {
  name: string
  label: string
  help?: string
  /** `lines` and `many` are lists in the request. */
  kind?: 'area' | 'select' | 'check' | 'lines' | 'many' | 'number'
  options?: readonly Option[]
  required?: true
  /** Cannot be changed later. */
  fixed?: true
  /** Chosen at first. */
  initial?: string
}

export type FieldGroup = { title: string; fields: readonly FieldSpec[] }

export const fieldsOf = (groups: readonly FieldGroup[]): FieldSpec[] => groups.flatMap(({ fields }) => fields)

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

export const valueIn = (values: Values, { name, initial = '' }: FieldSpec): string => values[name] ?? initial

export const missingIn = (groups: readonly FieldGroup[], values: Values): FieldSpec[] =>
  fieldsOf(groups).filter((field) => field.required && valueIn(values, field).trim() === '')

const partOf = (field: FieldSpec, text: string): unknown => {
  if (field.kind === 'lines' || field.kind === 'many') return linesOf(text)
  if (field.kind === 'number') return Number(text)
  return field.kind === 'check' ? text === 'yes' : text.trim()
}

/** What is empty is left out. When something is changed, an emptied field is removed with null. */
export const bodyOf = (groups: readonly FieldGroup[], values: Values, before?: Values): Record<string, unknown> =>
  Object.fromEntries(
    fieldsOf(groups).flatMap((field) => {
      const text = valueIn(values, field)
      if (before && text === (before[field.name] ?? '')) return []
      if (text.trim() !== '') return [[field.name, partOf(field, text)]]
      if (!before) return []
      return [[field.name, field.kind && field.kind !== 'number' ? partOf(field, '') : null]]
    }),
  )

const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.join('\n')
  if (typeof value === 'boolean') return value ? 'yes' : ''
  return value === null || value === undefined ? '' : String(value)
}

export const valuesOf = (row: object): Values =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)]))

type ControlProps = { field: FieldSpec; text: string; onText: (text: string) => void }

const controlOf = ({ field, text, onText }: ControlProps): ReactElement<{ id?: string }> => {
  if (field.kind === 'select') {
    const none = { value: '', label: senders.choose }
    return <Select className="w-full" options={[none, ...(field.options ?? [])]} value={text} onValue={onText} />
  }
  if (field.kind === 'area' || field.kind === 'lines') {
    return <TextArea value={text} onChange={(event) => onText(event.target.value)} />
  }
  const numeric = field.kind === 'number' ? { inputMode: 'numeric' as const } : {}
  return <Input {...numeric} value={text} onChange={(event) => onText(event.target.value)} />
}

const Many = ({ field, text, onText, error }: ControlProps & { error: string | undefined }) => {
  const chosen = linesOf(text)
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 font-medium text-sm">{field.label}</legend>
      {field.options?.map(({ value, label }) => (
        <Checkbox
          key={value}
          label={label}
          checked={chosen.includes(value)}
          onChecked={(on) => onText((on ? [...chosen, value] : chosen.filter((one) => one !== value)).join('\n'))}
        />
      ))}
      {field.options?.length === 0 && <p className="text-muted text-sm">{field.help}</p>}
      {error && (
        <p role="alert" className="text-bad text-sm">
          {error}
        </p>
      )}
    </fieldset>
  )
}

export const FormField = ({ error, ...props }: ControlProps & { error: string | undefined }) => {
  const { field, text, onText } = props
  if (field.kind === 'many') return <Many {...props} error={error} />
  if (field.kind === 'check') {
    return <Checkbox label={field.label} checked={text === 'yes'} onChecked={(on) => onText(on ? 'yes' : '')} />
  }
  return (
    <Field label={field.label} help={field.help} error={error} optional={!field.required}>
      {controlOf(props)}
    </Field>
  )
}
