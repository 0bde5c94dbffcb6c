import type { ComponentProps } from 'react'
import { Field, type FieldProps } from './field.tsx'
import { Input, TextArea } from './input.tsx'
import { Select } from './select.tsx'

type Labels = Omit<FieldProps, 'children'>
type Props = Labels & Omit<ComponentProps<'input'>, 'onChange'> & { onText: (text: string) => void }

/** One line of text with its label. */
export const TextField = ({ label, help, error, optional, onText, ...input }: Props) => (
  <Field label={label} help={help} error={error} optional={optional}>
    <Input {...input} onChange={(event) => onText(event.target.value)} />
  </Field>
)

type AreaProps = Labels & Omit<ComponentProps<'textarea'>, 'onChange'> & { onText: (text: string) => void }

/** Several lines. */
export const TextAreaField = ({ label, help, error, optional, onText, ...area }: AreaProps) => (
  <Field label={label} help={help} error={error} optional={optional}>
    <TextArea {...area} onChange={(event) => onText(event.target.value)} />
  </Field>
)

/** A choice with its label. */
export const SelectField = ({ label, help, error, optional, ...select }: Labels & ComponentProps<typeof Select>) => (
  <Field label={label} help={help} error={error} optional={optional}>
    <Select {...select} />
  </Field>
)

/** What the fields of a form need, by the names of their values: the text, its change, and what the service says of it. */
export const fieldsOf =
  <T extends object>(values: T, change: (part: Partial<T>) => void, fault: (path: string) => string | undefined) =>
  (name: keyof T & string, path: string = name) => ({
    value: values[name] as string,
    error: fault(path),
    onText: (text: string) => change({ [name]: text } as unknown as Partial<T>),
  })
