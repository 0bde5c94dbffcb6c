/** Loads the package `smpp` with the fields that it does not know. */
import type { Smpp } from 'smpp'

let loaded: Promise<Smpp> | undefined

/** Loaded on first use, because most processes never need it. */
export const loadSmpp = (): Promise<Smpp> => {
  loaded ??= import('smpp').then(({ default: smpp }) => {
    // The ids of a registered sender and template in India. Operators there agreed on these tags.
    smpp.addTLV('dlt_entity_id', { id: 0x1400, type: smpp.types.tlv.string })
    smpp.addTLV('dlt_template_id', { id: 0x1401, type: smpp.types.tlv.string })
    return smpp
  })
  return loaded
}
