/** Files that are sent with an email. They stay in memory: the storage of drafts is too small for them. */
import { compose } from '../../../strings/compose.ts'
import { byteSize } from '../../../ui/byte-size.ts'

export const maxFiles = 10
const maxBytes = 7 * 1_048_576

export const totalOf = (files: readonly File[]): number => files.reduce((sum, { size }) => sum + size, 0)

/** What is wrong with the files, before they are read. */
export const filesFault = (files: readonly File[]): string | undefined => {
  if (files.length > maxFiles) return compose.filesMany
  return totalOf(files) > maxBytes ? compose.filesLarge(byteSize(totalOf(files))) : undefined
}

const base64Of = async (file: File): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.onload = () => resolve(String(reader.result))
  reader.onerror = () => reject(reader.error)
  reader.readAsDataURL(file)
  return (await promise).replace(/^[^,]*,/, '')
}

type Attached = { attachments?: { filename: string; content: string }[] }

const attached = (files: readonly File[], contents: readonly string[]): Attached =>
  files.length === 0
    ? {}
    : { attachments: files.map(({ name }, index) => ({ filename: name, content: contents[index] as string })) }

export const attachmentsOf = async (files: readonly File[]): Promise<Attached> =>
  attached(files, await Promise.all(files.map(base64Of)))

/** The same with words instead of the contents, to read. */
export const namedAttachments = (files: readonly File[]): Attached =>
  attached(
    files,
    files.map(({ name }) => compose.inBase64(name)),
  )
