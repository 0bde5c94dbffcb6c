/** The rules for the fields of a contact, shared by requests and CSV files. */
import { parseMailbox } from '../../platform/ground/mailbox.ts'

export const maxName = 200
export const maxPhone = 32
export const maxEmail = 320
export const maxMetadataKeys = 100
export const maxMetadataKey = 128
export const maxMetadataValue = 4_096

/** The address as it is stored. Undefined when the text is not an address, or has a display name. */
export const contactEmail = (text: string): string | undefined => {
  if (text.length > maxEmail || text.includes('<')) return undefined
  return parseMailbox(text)?.address
}

/** Ids used to start with `ctc_`. */
export const contactIdOf = (id: string): string => id.replace(/^ctc_/, 'con_')
