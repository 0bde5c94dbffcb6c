/** The links that mail carries back to this service. */
import { prepareHtml } from './rewrite.ts'
import type { MessageRef, Tokens, UnsubscribeRef } from './tokens.ts'

/** In bytes. A longer link stays as it is: wrapped, it would outgrow what mail clients and proxies take. */
export const longestTrackedUrl = 2_048

export type Tracked = MessageRef & {
  trackOpens: boolean
  trackClicks: boolean
  /** The recipient's own unsubscribe link where the mail has one: it is never wrapped. */
  unsubscribeUrl: string | null
}

export interface Links {
  openUrl(ref: MessageRef): string
  /** A link that is too long is answered as it is. */
  clickUrl(ref: MessageRef, url: string): string
  unsubscribeUrl(ref: UnsubscribeRef): string
  /** The pair of headers by which mail programs offer to unsubscribe (RFC 8058). */
  listUnsubscribe(ref: UnsubscribeRef): { 'List-Unsubscribe': string; 'List-Unsubscribe-Post': string }
  /** The html part with what was asked for: pixel, wrapped links, both or neither. */
  track(html: string, tracked: Tracked): string
}

type Needs = {
  tokens: Tokens
  /** The public address, without a slash at its end. Asked at each use: it may be known only once the port is. */
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
    listUnsubscribe: (ref) => ({
      'List-Unsubscribe': `<${links.unsubscribeUrl(ref)}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    }),
    track: (html, { trackOpens, trackClicks, unsubscribeUrl, ...message }) =>
      prepareHtml(html, {
        openUrl: trackOpens ? links.openUrl(message) : null,
        wrap: trackClicks ? (url) => links.clickUrl(message, url) : null,
        keep: [`${baseUrl()}/u/`, ...(unsubscribeUrl === null ? [] : [unsubscribeUrl])],
      }),
  }
  return links
}
