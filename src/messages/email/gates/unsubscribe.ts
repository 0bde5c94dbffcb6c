import { Failure } from '../../../ground/errors.ts'
import type { Links } from '../../../tracking/links.ts'
import type { Gate } from '../../draft.ts'
import { destinations, type EmailDraft } from '../draft.ts'

const placeholder = /\{\{\s*unsubscribe_url\s*\}\}/g

const holds = (text: string | null): boolean =>
  text?.includes('unsubscribe_url') === true && text.search(placeholder) >= 0

const fill = (text: string | null, url: string): string | null =>
  text?.replace(placeholder, () => url) ?? null

const without = (headers: Record<string, string>, unwanted: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== unwanted))

const supplies = (headers: Record<string, string>, wanted: string): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === wanted)

/**
 * The link and the header pair by which one recipient leaves a broadcast. Only the one recipient's own: a link that
 * several people hold would let one of them unsubscribe another.
 */
export const unsubscribeGate = (links: Links): Gate<EmailDraft> => ({
  name: 'unsubscribe',
  at: ['single', 'batch'],
  check: (draft) => {
    const asked = holds(draft.html) || holds(draft.text)
    const broadcast = draft.stream === 'broadcast'
    if (asked && !broadcast) throw new Failure('UNSUBSCRIBE_REQUIRES_BROADCAST')
    const alone = destinations(draft).length === 1
    if (asked && !alone) throw new Failure('UNSUBSCRIBE_MULTI_RECIPIENT')
    if (!broadcast || !alone) return
    const { orgId, tenantId, environment } = draft.by
    const address = (draft.to[0] as { address: string }).address
    const ref = { orgId, tenantId, environment, address, messageId: draft.id }
    const url = links.unsubscribeUrl(ref)
    draft.unsubscribeUrl = url
    draft.html = fill(draft.html, url)
    draft.text = fill(draft.text, url)
    if (!supplies(draft.headers, 'list-unsubscribe')) {
      // The second of the pair means nothing alone, and twice it would contradict itself.
      const others = without(draft.headers, 'list-unsubscribe-post')
      draft.headers = { ...others, ...links.listUnsubscribe(ref) }
    }
  },
})
