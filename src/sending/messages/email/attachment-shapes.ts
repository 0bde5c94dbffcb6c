/** The schemas of attachments in requests. */
import mime from 'mime/lite'
import { z } from 'zod'
import { patternText } from '../../../platform/ground/bounded-text.ts'
import { contentIdPattern } from '../../../providers/email/mime-parts.ts'
import { isBase64 } from './base64.ts'

export const maxAttachments = 10

const content = z
  .string()
  .refine(isBase64, 'Must be base64.')
  .transform((text) => Buffer.from(text, 'base64'))
  .meta({
    description: 'The content of the file, in base64. Line breaks and spaces are ignored.',
    examples: ['SGVsbG8='],
  })

const contentId = patternText(
  contentIdPattern,
  128,
  'Must be 1 to 128 letters, digits or any of . _ - + = $ ~ ! * @, without angle brackets.',
)
  .optional()
  .meta({
    description: 'Shows the file where the HTML refers to it, such as `<img src="cid:logo">` for the id `logo`.',
    examples: ['logo'],
  })

const filename = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^/\\\p{Cc}]*$/u, 'Must be a file name without path separators or control characters.')
  .meta({
    description: 'The name of the file, 1 to 255 characters without slashes.',
    examples: ['invoice.pdf'],
  })

const contentType = z
  .string()
  .max(255)
  .regex(
    /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*(?: *;[ -~]*)?$/i,
    'Must be a media type, such as application/pdf.',
  )
  .optional()
  .meta({
    description:
      'The media type of the file, derived from its name if omitted. With `text/calendar; method=REQUEST`, mail clients show an invitation.',
    examples: ['application/pdf'],
  })

const file = { filename, content_type: contentType, content_id: contentId }
type GivenFile = { filename: string; content_type?: string | undefined; content_id?: string | undefined }

const namesOfFile = (given: GivenFile) => ({
  filename: given.filename,
  contentType: given.content_type ?? mime.getType(given.filename) ?? 'application/octet-stream',
  contentId: given.content_id,
})

export const InlineAttachment = z
  .object({ ...file, content })
  .transform((given) => ({ ...namesOfFile(given), content: given.content }))
  .meta({ id: 'Attachment' })

export const RemoteAttachment = z
  .object({
    ...file,
    url: z
      .url({ protocol: /^https$/ })
      .max(2_048)
      .meta({
        description: 'A public https URL of up to 2,048 characters. The file is fetched once per request.',
        examples: ['https://example.com/invoice.pdf'],
      }),
  })
  .transform((given) => ({ ...namesOfFile(given), url: given.url }))
  .meta({ id: 'LinkedAttachment' })

export type NamedAttachments = { attachments: readonly ({ contentId?: string | undefined } | null)[] }

/** With one content id twice, each mail client would choose which file to show. */
export const distinctContentIds = ({ attachments }: NamedAttachments, context: z.RefinementCtx): void => {
  if (attachments.length === 0 || attachments.length > maxAttachments) return
  const ids = attachments.map((one) => one?.contentId)
  for (const [index, id] of ids.entries()) {
    if (id === undefined || ids.indexOf(id) === index) continue
    const path = ['attachments', index, 'content_id']
    context.addIssue({ code: 'custom', path, message: 'Must differ from the content_id of the other attachments.' })
  }
}
