/** Turns a text message into the fields of its `submit_sm` requests, one for each part. */
import { isE164 } from '../../../platform/ground/phone-number.ts'
import { splitText } from '../../../platform/ground/segments.ts'
import type { Sms } from '../sms-provider.ts'

export type SubmitFields = Record<string, unknown>

/** Types of number: international, alphanumeric. Numbering plans: ISDN, unknown. */
const international = { ton: 1, npi: 1 }
const alphanumeric = { ton: 5, npi: 0 }

/** The type says that a number is international, so it is written without its plus sign. */
const addressOf = (text: string): { ton: number; npi: number; address: string } =>
  isE164(text) ? { ...international, address: text.slice(1) } : { ...alphanumeric, address: text }

const dataCodings = { gsm7: 0, ucs2: 8 } as const

/** A final receipt, whatever the outcome. */
const registeredDelivery = 1

/** The header by which a phone joins the parts of a text. Its reference has eight bits. */
const concatenation = (reference: number, total: number, part: number): Buffer =>
  Buffer.from([5, 0, 3, reference & 0xff, total, part])

/** More parts cannot be numbered. */
export const maxParts = 255

/** The ids go to the carrier together or not at all. */
const dltFields = ({ dlt }: Sms): SubmitFields =>
  dlt && dlt.entityId !== '' && dlt.templateId !== ''
    ? { dlt_entity_id: dlt.entityId, dlt_template_id: dlt.templateId }
    : {}

export const submitFieldsOf = (sms: Sms, reference: number): SubmitFields[] => {
  const { encoding, parts } = splitText(sms.body)
  const [source, destination] = [addressOf(sms.from), addressOf(sms.to)]
  const common = {
    source_addr_ton: source.ton,
    source_addr_npi: source.npi,
    source_addr: source.address,
    dest_addr_ton: destination.ton,
    dest_addr_npi: destination.npi,
    destination_addr: destination.address,
    data_coding: dataCodings[encoding],
    registered_delivery: registeredDelivery,
    ...dltFields(sms),
  }
  return parts.map((message, i) => {
    const udh = parts.length > 1 ? { udh: concatenation(reference, parts.length, i + 1) } : {}
    return { ...common, short_message: { message, ...udh } }
  })
}
