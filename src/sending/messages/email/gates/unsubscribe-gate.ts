import { Failure } from '../../../../platform/ground/errors.ts'
import { linkMark } from '../../../templates/compiled.ts'
import type { Links } from '../../../tracking/links.ts'
import type { Gate } from '../../draft.ts'
import { destinations, type EmailDraft, type TaggedParts } from '../email-draft.ts'

// The place of the link: a tag in html and text of the request, a mark in html and text rendered from a template.
const tag = /\{\{\s*unsubscribe_url\s*\}\}/g
const mark = new RegExp(RegExp.escape(linkMark), 'g')

/** Replaces the tag with the mark. With a template, the gate looks only for marks, also in the request's own text. */
export const marked = (text: string): string => text.replace(tag, () => linkMark)

/** Matches the places of the link in html and text. */
export const unsubscribeTagOf = ({ template }: EmailDraft): RegExp => (template ? mark : tag)

const contains = (text: string | null, place: RegExp): boolean =>
  text?.includes('unsubscribe_url') === true && text.search(place) >= 0

/** Which parts contain a place of the link. The content of a bulk call is searched once for all its recipients. */
export const taggedParts = (draft: EmailDraft): TaggedParts => {
  const place = unsubscribeTagOf(draft)
  draft.pages.tagged ??= { html: contains(draft.html, place), text: contains(draft.text, place) }
  return draft.pages.tagged
}

const pair = new Set(['list-unsubscribe', 'list-unsubscribe-post'])

/** An empty header is not sent, so it does not count. */
const hasListUnsubscribe = (headers: Record<string, string>): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'list-unsubscribe' && value.trim() !== '')

const withoutPair = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !pair.has(name.toLowerCase())))

/**
 * Makes the unsubscribe link of a broadcast with a single recipient and adds its List-Unsubscribe headers. The link is
 * filled into html and text after the last gate. With several recipients, the shared link would let one of them
 * unsubscribe another.
 */
export const unsubscribeGate = (links: Links): Gate<EmailDraft> => ({
  name: 'unsubscribe',
  at: ['single', 'batch'],
  check: (draft) => {
    const tagged = taggedParts(draft)
    const hasLink = tagged.html || tagged.text
    const broadcast = draft.stream === 'broadcast'
    if (hasLink && !broadcast) throw new Failure('UNSUBSCRIBE_REQUIRES_BROADCAST')
    const single = destinations(draft).length === 1
    if (hasLink && !single) throw new Failure('UNSUBSCRIBE_MULTI_RECIPIENT')
    if (!broadcast || !single) return
    const { orgId, tenantId, environment } = draft.by
    const address = (draft.to[0] as { address: string }).address
    const ref = { orgId, tenantId, environment, address, messageId: draft.id }
    draft.unsubscribeUrl = links.unsubscribeUrl(ref)
    if (!hasListUnsubscribe(draft.headers)) {
      // Removes a List-Unsubscribe-Post of the request, which is meaningless alone and must not appear twice.
      draft.headers = { ...withoutPair(draft.headers), ...links.listUnsubscribe(draft.unsubscribeUrl) }
    }
  },
})
