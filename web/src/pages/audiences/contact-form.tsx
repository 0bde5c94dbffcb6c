import { type ReactNode, useState } from 'react'
import { contacts } from '../../strings/audiences.ts'
import { SaveForm } from '../../ui/save-form.tsx'
import { TextAreaField, TextField } from '../../ui/text-field.tsx'
import { useSave } from '../../ui/use-save.ts'
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
  /** Next to the button. */
  more?: ReactNode
}

export const ContactForm = ({ label, contact, onSubmit, more }: Props) => {
  const [texts, setTexts] = useState(() => textsOf(contact))
  const form = useSave(onSubmit)
  const line = badLine(texts.metadata)
  const field = (name: keyof typeof blank) => ({
    value: texts[name],
    error: form.fault(name),
    onText: (text: string) => setTexts((now) => ({ ...now, [name]: text })),
  })
  const send = () => {
    if (line !== undefined) return
    const { name, email, phone, metadata } = texts
    form.save({ name: name || null, email: email || null, phone: phone || null, metadata: metadataOf(metadata) })
  }
  return (
    <SaveForm label={label} onSubmit={send} form={form} gate="requireDeveloperSession" more={more}>
      <TextField type="email" label={contacts.email} {...field('email')} />
      <TextField label={contacts.name} optional {...field('name')} />
      <TextField type="tel" label={contacts.phone} optional help={contacts.phoneHelp} {...field('phone')} />
      <TextAreaField
        label={contacts.metadata}
        optional
        help={contacts.metadataHelp}
        spellCheck={false}
        className="font-mono"
        {...field('metadata')}
        error={line === undefined ? form.faultIn('metadata') : contacts.metadataLine(line)}
      />
    </SaveForm>
  )
}
