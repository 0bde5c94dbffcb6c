/** Builds the links in mail that lead back to this service. */
import { type Page, type ReadOptions, readPage, writePage } from './rewrite.ts'
import type { MessageRef, TokenKind, Tokens, UnsubscribeRef } from './tokens.ts'
import { longestTrackedUrl } from './web-url.ts'

export type LinkOptions = Pick<ReadOptions, 'unsubscribeTag'> & { trackOpens: boolean; trackClicks: boolean }

/** The message that the links belong to, and the recipient's unsubscribe link, which is never wrapped. */
export type LinkedMessage = MessageRef & { unsubscribeUrl: string | null }

type Needs = {
  tokens: Tokens
  /** The public URL without a trailing slash. Called at each use, because it may depend on a port assigned later. */
  baseUrl: () => string
}

/** A link of this service, at whatever address it was reachable when the link was made. */
const ownLink = /(\/t\/o\/|\/t\/c\/|\/u\/)([A-Za-z0-9_-]{40,8192})/g

export const makeLinks = ({ tokens, baseUrl }: Needs) => {
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

  const openUrl = (ref: MessageRef): string => `${baseUrl()}/t/o/${tokens.open.sign(ref)}`

  /** Returns a link that is too long unchanged. */
  const clickUrl = (ref: MessageRef, url: string): string =>
    Buffer.byteLength(url) > longestTrackedUrl ? url : `${baseUrl()}/t/c/${tokens.click.sign({ ...ref, url })}`

  return {
    openUrl,
    clickUrl,
    unsubscribeUrl: (ref: UnsubscribeRef): string => `${baseUrl()}/u/${tokens.unsubscribe.sign(ref)}`,
    /** The headers that let mail clients offer one-click unsubscribe (RFC 8058). */
    listUnsubscribe: (unsubscribeUrl: string) => ({
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    }),
    /** Moves the links of one message to another, for a copy of its content. Other links stay as they are. */
    moveTo: (text: string, from: MessageRef, to: MessageRef): string =>
      text.replace(ownLink, (link, folder: string, token: string) => {
        const moved = moveToken(folder, token, from, to)
        return moved === undefined ? link : `${folder}${moved}`
      }),
    /** Reads a text once for all its recipients. Rejects one with too many links. */
    read: (text: string, { trackOpens, trackClicks, unsubscribeTag }: LinkOptions): Promise<Page> => {
      const unsubscribeFolder = `${baseUrl()}/u/`
      const keep = [unsubscribeFolder]
      return readPage(text, { opens: trackOpens, clicks: trackClicks, keep, unsubscribeTag, unsubscribeFolder })
    },
    /** Fills in the links of one recipient. Rejects a text that becomes too long. */
    write: (page: Page, { unsubscribeUrl, ...message }: LinkedMessage): Promise<string> =>
      writePage(page, {
        openUrl: openUrl(message),
        wrap: (url) => (url === unsubscribeUrl ? url : clickUrl(message, url)),
        unsubscribeUrl,
      }),
  }
}

export type Links = ReturnType<typeof makeLinks>
