/** How much may be attached, and files that are fetched from an address. */
import { Failure, invalid } from '../../ground/errors.ts'
import type { GuardedAgent } from '../../outgoing/guarded.ts'
import type { Attachment } from '../../providers/email/email-provider.ts'

export const maxAttachmentBytes = 7 * 1_048_576
/** For all files of a call together. */
const usualTimeoutMs = 30_000
const mostAtOnce = 5

/** A file named by its address. */
export type Linked = { filename: string; contentType: string; url: string }

export const assertAttachable = (attachments: readonly Attachment[]): void => {
  const bytes = attachments.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > maxAttachmentBytes) throw new Failure('ATTACHMENT_TOO_LARGE')
}

/** The decoded size of what a body that has not been validated attaches; 0 for what is no such body. */
export const attachedBytes = (raw: unknown): number => {
  const list = (raw as { attachments?: unknown } | null)?.attachments
  if (!Array.isArray(list)) return 0
  return list.reduce<number>((sum, one) => {
    const content = (one as { content?: unknown } | null)?.content
    return sum + (typeof content === 'string' ? Buffer.byteLength(content, 'base64') : 0)
  }, 0)
}

export type FetchAttachments = (list: readonly (Attachment | Linked)[]) => Promise<Attachment[]>

/**
 * Each address is asked once, before anything is sent; one that fails is the fault of the whole call. Of several
 * faults the first in the order of the list is told, whichever was met first.
 */
export const makeFetchAttachments =
  (agent: Pick<GuardedAgent, 'request'>, { timeoutMs = usualTimeoutMs } = {}): FetchAttachments =>
  async (list) => {
    const until = performance.now() + timeoutMs
    const decided = new AbortController()
    const bytes = list.map((one) => ('content' in one ? one.content.length : 0))
    /** What those before leave, as far as their sizes are known. */
    const roomAt = (index: number) => bytes.slice(0, index).reduce((left, taken) => left - taken, maxAttachmentBytes)

    const contents: Promise<Buffer>[] = []
    const inTurn = async (one: Linked, index: number): Promise<Buffer> => {
      await contents[index - mostAtOnce]?.catch(() => undefined)
      const content = await fetchOne(agent, one, index, {
        timeoutMs: Math.max(1, until - performance.now()),
        maxBytes: Math.max(0, roomAt(index)),
        signal: decided.signal,
      })
      bytes[index] = content.length
      return content
    }
    for (const [index, one] of list.entries()) {
      const content = 'content' in one ? Promise.resolve(one.content) : inTurn(one, index)
      // It is looked at only when those before it are there.
      content.catch(() => undefined)
      contents.push(content)
    }

    const attachments: Attachment[] = []
    try {
      for (const [index, { filename, contentType }] of list.entries()) {
        const content = (await contents[index]) as Buffer
        if (roomAt(index + 1) < 0) throw new Failure('ATTACHMENT_TOO_LARGE')
        attachments.push({ filename, contentType, content })
      }
    } finally {
      decided.abort()
    }
    return attachments
  }

const fetchOne = async (
  agent: Pick<GuardedAgent, 'request'>,
  { url }: Linked,
  index: number,
  { maxBytes, ...request }: { timeoutMs: number; maxBytes: number; signal: AbortSignal },
): Promise<Buffer> => {
  const unfetched = (why: string) => invalid(['attachments', index, 'url'], 'custom', `Could not be fetched: ${why}.`)
  const answer = await agent
    .request(url, { method: 'GET', ...request, maxBytes: maxBytes + 1 })
    .catch((error: Error & { kind?: string }) => {
      throw unfetched(error.kind ?? 'it may not be asked for')
    })
  if (answer.status !== 200) throw unfetched(`the answer was ${answer.status}`)
  if (answer.truncated || answer.body.length > maxBytes) throw new Failure('ATTACHMENT_TOO_LARGE')
  return answer.body
}
