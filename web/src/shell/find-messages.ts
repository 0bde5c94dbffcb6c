/** Finds messages from the command palette: by id, or by the address or number of a recipient. */
import { messages } from '../strings/messages.ts'

export type Found = { id: string; label: string; search: Record<string, string> }

/** Undefined for a text that is neither. */
export const findMessages = (typed: string): Found | undefined => {
  if (/^msg_\w+$/.test(typed)) return { id: 'message', label: messages.findId(typed), search: { open: typed } }
  if (/^\S+@\S*$|^\+\d{3,}$/.test(typed)) {
    return { id: 'messages', label: messages.findText(typed), search: { q: typed } }
  }
  return undefined
}
