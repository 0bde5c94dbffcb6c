import { Failure } from '../../../ground/errors.ts'
import { linkMark } from '../../../templates/compiled.ts'
import type { Links } from '../../../tracking/links.ts'
import type { Gate } from '../../draft.ts'
import { destinations, type EmailDraft } from '../email-draft.ts'

/** Where the link belongs: in what the request gives as the tag, in what a template rendered as a mark. */
const tag = /\{\{\s*unsubscribe_url\s*\}\}/g
const mark = new RegExp(RegExp.escape(linkMark), 'g')

/** As if the template had said it. */
export const marked = (text: string): string => text.replace(tag, () => linkMark)

const holds = (text: string | null, place: RegExp): boolean =>
  text?.includes('unsubscribe_url') === true && text.search(place) >= 0

const fill = (text: string | null, place: RegExp, url: string): string | null => text?.replace(place, () => url) ?? null

const ownPair = new Set(['list-unsubscribe', 'list-unsubscribe-post'])

/** An empty header is none on the wire. */
const suppliesOwn = (headers: Record<string, string>): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'list-unsubscribe' && value.trim() !== '')

const withoutPair = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ownPair.has(name.toLowerCase())))

/**
 * The link and the header pair by which one recipient leaves a broadcast. Only the one recipient's own: a link that
 * several people hold would let one of them unsubscribe another.
 */
export const unsubscribeGate = (links: Links): Gate<EmailDraft> => ({
  name: 'unsubscribe',
  at: ['single', 'batch'],
  check: (draft) => {
    const place = draft.template ? mark : tag
    const asked = holds(draft.html, place) || holds(draft.text, place)
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
    draft.html = fill(draft.html, place, url)
    draft.text = fill(draft.text, place, url)
    if (!suppliesOwn(draft.headers)) {
      // The second of the pair means nothing alone, and twice it would contradict itself.
      draft.headers = { ...withoutPair(draft.headers), ...links.listUnsubscribe(ref) }
    }
  },
})
