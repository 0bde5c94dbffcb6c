/** Fills the unsubscribe link and tracking into the html and text of an email. */
import type { MaybePromise } from '../../../platform/ground/maybe-promise.ts'
import type { Links } from '../../tracking/links.ts'
import { maxFilledCharacters, tooManyCharacters } from '../../tracking/rewrite.ts'
import type { EmailDraft } from './email-draft.ts'
import { taggedParts, unsubscribeTagOf } from './gates/unsubscribe-gate.ts'

const noTracking = { trackOpens: false, trackClicks: false }
const noTags = { html: false, text: false }

type Part = 'html' | 'text'

export const makeFillLinks = (links: Links): ((draft: EmailDraft) => MaybePromise<void>) => {
  const fillPart = async (draft: EmailDraft, part: Part, tracking: typeof noTracking): Promise<void> => {
    const { by, id, pages, unsubscribeUrl } = draft
    const unsubscribeTag = unsubscribeUrl === null ? null : unsubscribeTagOf(draft)
    pages[part] ??= links.read(draft[part] as string, { ...tracking, unsubscribeTag })
    draft[part] = await links.write(await pages[part], { orgId: by.orgId, messageId: id, unsubscribeUrl })
  }

  const assertShort = ({ html, text }: EmailDraft): void => {
    if (Math.max(html?.length ?? 0, text?.length ?? 0) > maxFilledCharacters) throw tooManyCharacters()
  }

  return (draft) => {
    const { html, trackOpens, trackClicks, pages, unsubscribeUrl } = draft
    const tagged = unsubscribeUrl === null ? noTags : taggedParts(draft)
    const fillsHtml = html !== null && (trackOpens || trackClicks || tagged.html)
    const fillsText = tagged.text
    if (!fillsHtml && !fillsText) return assertShort(draft)
    const fill = async (): Promise<void> => {
      if (fillsHtml) await fillPart(draft, 'html', { trackOpens, trackClicks })
      if (fillsText) await fillPart(draft, 'text', noTracking)
      assertShort(draft)
    }
    // One draft of a call after another. Otherwise all of them would grow at the same time and fill the memory.
    const filling = pages.latest ? pages.latest.then(fill) : fill()
    pages.latest = filling.catch(() => undefined)
    return filling
  }
}
