/** The variables of one recipient: its contact, then those of the request, then the contact's metadata. */
import type { TemplateVariables } from '../templates/language.ts'
import type { ContactValues } from './store/recipient-rows.ts'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const firstWord = (name: string | null): string | null => name?.trim().split(/\s+/, 1)[0] || null

export const variablesOf = (
  { id, name, email, phone, metadata }: ContactValues,
  requested: TemplateVariables,
): TemplateVariables => {
  const fields = { name, first_name: firstWord(name), email, phone }
  const contact = { id, ...fields }
  const given = requested.contact
  return {
    ...fields,
    ...requested,
    // Only this key is merged. Any other key of the request replaces the contact's own.
    contact: given === undefined ? contact : isObject(given) ? { ...contact, ...given } : given,
    ...metadata,
  }
}
