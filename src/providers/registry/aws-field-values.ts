/** The fields of the registration forms of AWS End User Messaging, filled from the fields of the API. */
import type { RegistrationEntry, RegistrationFields } from './sms-registry.ts'

/** `file` is the URL of a file that has to be uploaded. */
export type FieldValue = { path: string; value: string; as: 'text' | 'choice' | 'file' }

type Values = Record<string, unknown>

const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value.trim() : ''
}

const valuesAs = (as: FieldValue['as'], values: Values): FieldValue[] =>
  Object.entries(values)
    .map(([path, value]) => ({ path, value: textOf(value), as }))
    .filter(({ value }) => value !== '')

const yesOrNo = (value: unknown): string => (value === true ? 'Yes' : 'No')
const withoutPunctuation = (value: unknown): string => textOf(value).replace(/[\s-]/g, '')

const samples = ({ sample_messages }: RegistrationFields): FieldValue[] =>
  valuesAs(
    'text',
    Object.fromEntries(
      (sample_messages as string[]).map((sample, i) => [`messageSamples.messageSample${i + 1}`, sample]),
    ),
  )

const brandValues = (brand: RegistrationFields): FieldValue[] => [
  ...valuesAs('text', {
    'companyInfo.companyName': brand.legal_company_name,
    'companyInfo.taxId': withoutPunctuation(brand.ein),
    'companyInfo.taxIdIssuingCountry': brand.ein ? brand.country : null,
    'companyInfo.stockSymbol': brand.stock_symbol,
    'companyInfo.address': brand.street,
    'companyInfo.city': brand.city,
    'companyInfo.state': brand.state_region,
    'companyInfo.zipCode': brand.postal_code,
    'companyInfo.isoCountryCode': brand.country,
    'contactInfo.dbaName': brand.display_name,
    'contactInfo.website': brand.website,
    'contactInfo.supportEmail': brand.email,
    'contactInfo.supportPhoneNumber': brand.contact_phone,
    'contactInfo.firstName': brand.contact_first_name,
    'contactInfo.lastName': brand.contact_last_name,
  }),
  ...valuesAs('choice', {
    'companyInfo.legalType': brand.entity_type,
    'companyInfo.stockExchange': brand.stock_exchange,
    'contactInfo.vertical': brand.vertical,
  }),
]

const tenDlcValues = (campaign: RegistrationFields, brand: RegistrationFields): FieldValue[] => [
  ...valuesAs('text', {
    // Despite its name, reviewers read this field as the description.
    'campaignInfo.campaignName': campaign.description,
    'campaignInfo.optInWorkflow': campaign.message_flow,
    'campaignInfo.optInKeyword': campaign.opt_in_keywords,
    'campaignInfo.optInMessage': campaign.opt_in_message,
    'campaignInfo.helpMessage': campaign.help_message,
    'campaignInfo.stopMessage': `${brand.display_name}: You are unsubscribed and will receive no further messages.`,
    'campaignInfo.privacyPolicyLink': campaign.privacy_policy_url,
    'campaignInfo.termsAndConditionsLink': campaign.terms_url,
  }),
  ...valuesAs('choice', {
    'campaignInfo.vertical': brand.vertical,
    'campaignUseCase.useCase': campaign.use_case,
    'campaignUseCase.subscriberOptIn': 'Yes',
    'campaignUseCase.subscriberOptOut': 'Yes',
    'campaignUseCase.subscriberHelp': 'Yes',
    'campaignUseCase.ageGated': yesOrNo(campaign.age_gated),
    'campaignUseCase.directLending': yesOrNo(campaign.direct_lending),
    'campaignUseCase.embeddedLink': yesOrNo(campaign.embedded_link),
    'campaignUseCase.embeddedPhone': yesOrNo(campaign.embedded_phone),
    'campaignCapabilities.messageType': 'Transactional',
    'campaignCapabilities.numberCapabilities': 'SMS',
  }),
  ...samples(campaign),
]

const tollFreeValues = (campaign: RegistrationFields, brand: RegistrationFields): FieldValue[] => [
  ...valuesAs('text', {
    'companyInfo.companyName': brand.legal_company_name,
    'companyInfo.website': brand.website,
    'companyInfo.address1': brand.street,
    'companyInfo.city': brand.city,
    'companyInfo.state': brand.state_region,
    'companyInfo.zipCode': brand.postal_code,
    'companyInfo.isoCountryCode': brand.country,
    'companyInfo.taxId': withoutPunctuation(brand.ein),
    'companyInfo.taxIdCountry': brand.ein ? brand.country : null,
    'contactInfo.firstName': brand.contact_first_name,
    'contactInfo.lastName': brand.contact_last_name,
    'contactInfo.supportEmail': brand.email,
    'contactInfo.supportPhoneNumber': brand.contact_phone,
    'messagingUseCase.useCaseDetails': campaign.description,
    'messagingUseCase.optInDescription': campaign.message_flow,
  }),
  ...valuesAs('choice', {
    'companyInfo.businessType': brand.entity_type,
    'companyInfo.taxIdAuthority': brand.ein ? 'EIN' : null,
    'messagingUseCase.useCaseCategory': campaign.use_case,
    // The API has no fields for these two, so every registration gets the same answer.
    'messagingUseCase.optInType': 'DIGITAL_FORM',
    'messagingUseCase.monthlyMessageVolume': '100',
  }),
  ...valuesAs('file', { 'messagingUseCase.optInImage': campaign.opt_in_evidence_url }),
  ...samples(campaign),
]

export const fieldValuesOf = (entry: RegistrationEntry): FieldValue[] => {
  if (entry.form === 'brand') return brandValues(entry.fields)
  return (entry.form === '10dlc' ? tenDlcValues : tollFreeValues)(entry.fields, entry.brand.fields)
}

export const registrationTypes: Record<RegistrationEntry['form'], string> = {
  brand: 'US_TEN_DLC_BRAND_REGISTRATION',
  '10dlc': 'US_TEN_DLC_CAMPAIGN_REGISTRATION',
  tollfree: 'US_TOLL_FREE_REGISTRATION',
}
