/** Builds the links in mail that lead back to this service. */
import { type Page, readPage, writePage } from './rewrite.ts'
import type { MessageRef, Tokens, UnsubscribeRef } from './tokens.ts'
import { longestTrackedUrl } from './web-url.ts'

export type LinkOptions = {
  trackOpens: boolean
  trackClicks: boolean
  /** Matches the places of the unsubscribe link, if the mail has one. */
  unsubscribeTag: RegExp | null
}

/** The message that the links belong to, and the recipient's unsubscribe link, which is never wrapped. */
export type LinkedMessage = MessageRef & { unsubscribeUrl: string | null }

export interface Links {
  openUrl(ref: MessageRef): string
  /** Returns a link that is too long unchanged. */
  clickUrl(ref: MessageRef, url: string): string
  unsubscribeUrl(ref: UnsubscribeRef): string
  /** The headers that let mail clients offer one-click unsubscribe (RFC 8058). */
  listUnsubscribe(unsubscribeUrl: string): { 'List-Unsubscribe': string; 'List-Unsubscribe-Post': string }
  /** Reads a text once for all its recipients. Rejects one with too many links. */
  read(text: string, options: LinkOptions): Promise<Page>
  /** Fills in the links of one recipient. Rejects a text that becomes too long. */
  write(page: Page, recipient: LinkedMessage): Promise<string>
}

type Needs = {
  tokens: Tokens
  /** The public URL without a trailing slash. Called at each use, because it may depend on a port assigned later. */
  baseUrl: () => string
}

export const makeLinks = ({ tokens, baseUrl }: Needs): Links => {
  const links: Links = {
    openUrl: ({ orgId, messageId }) => `${baseUrl()}/t/o/${tokens.open.sign({ orgId, messageId })}`,
    clickUrl: ({ orgId, messageId }, url) =>
      Buffer.byteLength(url) > longestTrackedUrl
        ? url
        : `${baseUrl()}/t/c/${tokens.click.sign({ orgId, messageId, url })}`,
    unsubscribeUrl: (ref) => `${baseUrl()}/u/${tokens.unsubscribe.sign(ref)}`,
    listUnsubscribe: (unsubscribeUrl) => ({
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    }),
    read: (text, { trackOpens, trackClicks, unsubscribeTag }) => {
      const unsubscribeFolder = `${baseUrl()}/u/`
      const keep = [unsubscribeFolder]
      return readPage(text, { opens: trackOpens, clicks: trackClicks, keep, unsubscribeTag, unsubscribeFolder })
    },
    write: (page, { unsubscribeUrl, ...message }) =>
      writePage(page, {
        openUrl: links.openUrl(message),
        wrap: (url) => (url === unsubscribeUrl ? url : links.clickUrl(message, url)),
        unsubscribeUrl,
      }),
  }
  return links
}
