/** How much may be attached, and files that are fetched from an address. */
import { Failure, invalid } from '../../ground/errors.ts'
import type { GuardedAgent } from '../../outgoing/guarded.ts'
import type { Attachment } from '../../providers/email/contract.ts'

export const maxAttachmentBytes = 7 * 1_048_576
const fetchTimeoutMs = 30_000

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

/** Each address is asked once, before anything is sent; one that fails is the fault of the whole call. */
export const makeFetchAttachments =
  (agent: Pick<GuardedAgent, 'request'>): FetchAttachments =>
  async (list) => {
    const fetched: Attachment[] = []
    let left = maxAttachmentBytes
    for (const [index, one] of list.entries()) {
      const content = 'content' in one ? one.content : await fetchOne(agent, one, index, left)
      left -= content.length
      if (left < 0) throw new Failure('ATTACHMENT_TOO_LARGE')
      fetched.push({ filename: one.filename, contentType: one.contentType, content })
    }
    return fetched
  }

const fetchOne = async (
  agent: Pick<GuardedAgent, 'request'>,
  { url }: Linked,
  index: number,
  maxBytes: number,
): Promise<Buffer> => {
  const unfetched = (why: string) =>
    invalid(['attachments', index, 'url'], 'custom', `Could not be fetched: ${why}.`)
  const answer = await agent
    .request(url, { method: 'GET', timeoutMs: fetchTimeoutMs, maxBytes: maxBytes + 1 })
    .catch((error: Error & { kind?: string }) => {
      throw unfetched(error.kind ?? 'it may not be asked for')
    })
  if (answer.status !== 200) throw unfetched(`the answer was ${answer.status}`)
  if (answer.truncated || answer.body.length > maxBytes) throw new Failure('ATTACHMENT_TOO_LARGE')
  return answer.body
}
