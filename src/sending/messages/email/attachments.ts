/** Limits the size of attachments, and fetches attachments given by URL. */
import { Failure, invalid } from '../../../platform/ground/errors.ts'
import type { GuardedAgent } from '../../../platform/outgoing/guarded.ts'
import type { Attachment } from '../../../providers/email/email-provider.ts'

export const maxAttachmentBytes = 7 * 1_048_576
/** For all files of a call together. */
const defaultTimeoutMs = 30_000
const maxConcurrent = 5

export type LinkedAttachment = Omit<Attachment, 'content'> & { url: string }

export const assertAttachable = (attachments: readonly Attachment[]): void => {
  const bytes = attachments.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > maxAttachmentBytes) throw new Failure('ATTACHMENT_TOO_LARGE')
}

/** The decoded size of all attachments in a body that has not been validated. Anything malformed counts as 0. */
export const attachedBytes = (raw: unknown): number => {
  const list = (raw as { attachments?: unknown } | null)?.attachments
  if (!Array.isArray(list)) return 0
  return list.reduce<number>((sum, one) => {
    const content = (one as { content?: unknown } | null)?.content
    return sum + (typeof content === 'string' ? Buffer.byteLength(content, 'base64') : 0)
  }, 0)
}

export type FetchAttachments = (list: readonly (Attachment | LinkedAttachment)[]) => Promise<Attachment[]>

/**
 * Fetches each URL once, before anything is sent. If one fails, the whole call fails. If several fail, the error is
 * about the first one in the list, even if another failed earlier.
 */
export const makeFetchAttachments =
  (agent: Pick<GuardedAgent, 'request'>, { timeoutMs = defaultTimeoutMs } = {}): FetchAttachments =>
  async (list) => {
    const until = performance.now() + timeoutMs
    const finished = new AbortController()
    const bytes = list.map((one) => ('content' in one ? one.content.length : 0))
    /** The bytes left for the attachment at `index`. Attachments before it that are still being fetched count as 0. */
    const bytesLeftAt = (index: number) => bytes.slice(0, index).reduce((left, size) => left - size, maxAttachmentBytes)

    const contents: Promise<Buffer>[] = []
    const fetchInTurn = async (one: LinkedAttachment, index: number): Promise<Buffer> => {
      await contents[index - maxConcurrent]?.catch(() => undefined)
      const content = await fetchOne(agent, one, index, {
        timeoutMs: Math.max(1, until - performance.now()),
        maxBytes: Math.max(0, bytesLeftAt(index)),
        signal: finished.signal,
      })
      bytes[index] = content.length
      return content
    }
    for (const [index, one] of list.entries()) {
      const content = 'content' in one ? Promise.resolve(one.content) : fetchInTurn(one, index)
      // Awaited below, after those before it. Until then a rejection must not count as unhandled.
      content.catch(() => undefined)
      contents.push(content)
    }

    const attachments: Attachment[] = []
    try {
      for (const [index, { filename, contentType, contentId }] of list.entries()) {
        const content = (await contents[index]) as Buffer
        if (bytesLeftAt(index + 1) < 0) throw new Failure('ATTACHMENT_TOO_LARGE')
        attachments.push({ filename, contentType, content, contentId })
      }
    } finally {
      finished.abort()
    }
    return attachments
  }

const fetchOne = async (
  agent: Pick<GuardedAgent, 'request'>,
  { url }: LinkedAttachment,
  index: number,
  { maxBytes, ...request }: { timeoutMs: number; maxBytes: number; signal: AbortSignal },
): Promise<Buffer> => {
  const notFetched = (why: string) => invalid(['attachments', index, 'url'], 'custom', `Could not be fetched: ${why}.`)
  const response = await agent
    .request(url, { method: 'GET', ...request, maxBytes: maxBytes + 1 })
    .catch((error: Error & { kind?: string }) => {
      throw notFetched(error.kind ?? 'the URL is not allowed')
    })
  if (response.status !== 200) throw notFetched(`the response status was ${response.status}`)
  if (response.truncated || response.body.length > maxBytes) throw new Failure('ATTACHMENT_TOO_LARGE')
  return response.body
}
