import { type ReactNode, useState } from 'react'
import { contacts } from '../../strings/audiences.ts'
import { Field } from '../../ui/field.tsx'
import { Input, TextArea } from '../../ui/input.tsx'
import { Form } from '../../ui/templates.tsx'
import { useSubmit } from '../sign-in/use-submit.ts'
import type { Contact } from './use-contacts.ts'

export type ContactFields = {
  name: string | null
  email: string | null
  phone: string | null
  metadata: Record<string, string>
}

const blank = { name: '', email: '', phone: '', metadata: '' }

const textsOf = (contact: Contact | undefined): typeof blank =>
  contact
    ? {
        name: contact.name ?? '',
        email: contact.email ?? '',
        phone: contact.phone ?? '',
        metadata: Object.entries(contact.metadata)
          .map(([key, value]) => `${key}=${value}`)
          .join('\n'),
      }
    : blank

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')
const badLine = (text: string): string | undefined => linesOf(text).find((line) => line.indexOf('=') < 1)

const metadataOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    linesOf(text).map((line) => {
      const at = line.indexOf('=')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )

type Props = {
  label: string
  contact?: Contact
  onSubmit: (fields: ContactFields) => Promise<void>
  actions: (busy: boolean) => ReactNode
}

export const ContactForm = ({ label, contact, onSubmit, actions }: Props) => {
  const [texts, setTexts] = useState(() => textsOf(contact))
  const form = useSubmit()
  const line = badLine(texts.metadata)
  const change = (name: keyof typeof blank) => (event: { target: { value: string } }) =>
    setTexts((now) => ({ ...now, [name]: event.target.value }))
  const send = () => {
    if (line !== undefined) return
    const { name, email, phone, metadata } = texts
    const fields = { name: name || null, email: email || null, phone: phone || null, metadata: metadataOf(metadata) }
    void form.submit(() => onSubmit(fields))
  }
  return (
    <Form label={label} onSubmit={send} error={form.rest} actions={actions(form.busy)}>
      <Field label={contacts.email} error={form.fault('email')}>
        <Input type="email" value={texts.email} onChange={change('email')} />
      </Field>
      <Field label={contacts.name} optional error={form.fault('name')}>
        <Input value={texts.name} onChange={change('name')} />
      </Field>
      <Field label={contacts.phone} optional help={contacts.phoneHelp} error={form.fault('phone')}>
        <Input type="tel" value={texts.phone} onChange={change('phone')} />
      </Field>
      <Field
        label={contacts.metadata}
        optional
        help={contacts.metadataHelp}
        error={line === undefined ? form.faultIn('metadata') : contacts.metadataLine(line)}
      >
        <TextArea value={texts.metadata} onChange={change('metadata')} spellCheck={false} className="font-mono" />
      </Field>
    </Form>
  )
}
