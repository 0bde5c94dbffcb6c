/** Which fields a form of AWS End User Messaging requires, given the values of the others. */
import type { FieldCondition, RegistrationFieldDefinition } from '@aws-sdk/client-pinpoint-sms-voice-v2'

/** Values by path. */
type GivenValues = ReadonlyMap<string, string>

const holds = ({ DependsOnFieldPath = '', Operator, Values = [] }: FieldCondition, given: GivenValues): boolean => {
  const value = given.get(DependsOnFieldPath)
  switch (Operator) {
    case 'HAS_VALUE':
      return value !== undefined
    case 'NO_VALUE':
      return value === undefined
    case 'EQUALS':
    case 'IN':
      return value !== undefined && Values.includes(value)
    case 'NOT_EQUALS':
    case 'NOT_IN':
      return value === undefined || !Values.includes(value)
    default:
      // The first rule whose conditions all hold decides. A condition that is not known does not hold.
      return false
  }
}

const isRequired = (field: RegistrationFieldDefinition, given: GivenValues): boolean => {
  const { FieldRequirement, ConditionalBehavior } = field
  if (FieldRequirement !== 'CONDITIONAL') return FieldRequirement === 'REQUIRED'
  const rule = ConditionalBehavior?.Rules?.find(({ Conditions = [] }) => Conditions.every((one) => holds(one, given)))
  return (rule?.RuleBehavior ?? ConditionalBehavior?.DefaultBehavior) === 'REQUIRED'
}

/** The paths of required fields that have no value, in the order of the form. */
export const missingFields = (form: ReadonlyMap<string, RegistrationFieldDefinition>, given: GivenValues): string[] =>
  [...form].flatMap(([path, field]) => (isRequired(field, given) && !given.has(path) ? [path] : []))

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The option that means the value, whatever its case and punctuation. */
export const optionFor = (field: RegistrationFieldDefinition | undefined, value: string): string =>
  field?.SelectValidation?.Options?.find((option) => plain(option) === plain(value)) ?? value.toUpperCase()
