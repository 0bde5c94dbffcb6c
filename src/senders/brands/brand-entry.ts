import type { RegistrationEntry } from '../../providers/registry/sms-registry.ts'
import type { BrandRow } from '../store/brand-rows.ts'

export const brandEntry = ({ id, environment, fields }: BrandRow): RegistrationEntry => ({
  id,
  environment,
  fields,
  form: 'brand',
})
