/** Builds the links in mail that lead back to this service. */
import { type Page, readPage, writePage } from './rewrite.ts'
import type { MessageRef, TokenKind, Tokens, UnsubscribeRef } from './tokens.ts'
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
  /** Moves the links of one message to another, for a copy of its content. Other links stay as they are. */
  moveTo(text: string, from: MessageRef, to: MessageRef): string
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

/** A link of this service, at whatever address it was reachable when the link was made. */
const ownLink = /(\/t\/o\/|\/t\/c\/|\/u\/)([A-Za-z0-9_-]{40,8192})/g

export const makeLinks = ({ tokens, baseUrl }: Needs): Links => {
  /** Undefined for a token that does not belong to the message. */
  const moveToken = (folder: string, token: string, from: MessageRef, to: MessageRef): string | undefined => {
    const move = <R extends { orgId: string; messageId: string | null }>(kind: TokenKind<R>): string | undefined => {
      const ref = kind.read(token)
      if (ref?.orgId !== from.orgId || ref.messageId !== from.messageId) return undefined
      return kind.sign({ ...ref, messageId: to.messageId })
    }
    if (folder === '/t/o/') return move(tokens.open)
    return folder === '/t/c/' ? move(tokens.click) : move(tokens.unsubscribe)
  }

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
    moveTo: (text, from, to) =>
      text.replace(ownLink, (link, folder: string, token: string) => {
        const moved = moveToken(folder, token, from, to)
        return moved === undefined ? link : `${folder}${moved}`
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
