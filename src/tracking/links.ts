/** Builds the links in mail that lead back to this service. */
import { prepareHtml } from './rewrite.ts'
import type { MessageRef, Tokens, UnsubscribeRef } from './tokens.ts'

/** In bytes. A longer link is not wrapped, because the result might be too long for mail clients and proxies. */
export const longestTrackedUrl = 2_048

export type Tracked = MessageRef & {
  trackOpens: boolean
  trackClicks: boolean
  /** The recipient's unsubscribe link, if the mail has one. It is never wrapped. */
  unsubscribeUrl: string | null
}

export interface Links {
  openUrl(ref: MessageRef): string
  /** Returns a link that is too long unchanged. */
  clickUrl(ref: MessageRef, url: string): string
  unsubscribeUrl(ref: UnsubscribeRef): string
  /** The headers that let mail clients offer one-click unsubscribe (RFC 8058). */
  listUnsubscribe(ref: UnsubscribeRef): { 'List-Unsubscribe': string; 'List-Unsubscribe-Post': string }
  /** Adds the tracking pixel and wraps the links, each only if requested. */
  track(html: string, tracked: Tracked): string
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
