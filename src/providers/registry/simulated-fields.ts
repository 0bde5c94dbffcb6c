/** The fields that the simulated registry requires. It names them as the API does. */
import type { RegistrationEntry, RegistrationFields } from './sms-registry.ts'

const ofEveryBrand = [
  'email',
  'country',
  'website',
  'vertical',
  'street',
  'city',
  'state_region',
  'postal_code',
  'contact_first_name',
  'contact_last_name',
  'contact_phone',
]

const requiredOfBrand = ({ entity_type }: RegistrationFields): string[] => [
  ...ofEveryBrand,
  ...(entity_type === 'sole_proprietor' ? [] : ['ein']),
  ...(entity_type === 'public_profit' ? ['stock_symbol', 'stock_exchange'] : []),
]

const requiredOf = ({ form, fields }: RegistrationEntry): string[] => {
  if (form === 'brand') return requiredOfBrand(fields)
  return form === 'tollfree' ? ['opt_in_evidence_url'] : []
}

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === ''

export const missingInSimulation = (entry: RegistrationEntry): string[] =>
  requiredOf(entry).filter((name) => isBlank(entry.fields[name]))
