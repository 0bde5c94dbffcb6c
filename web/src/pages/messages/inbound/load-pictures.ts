import { api, unwrap } from '../../../api/client.ts'
import type { AttachedPictures } from '../../../mail/clean-mail.ts'
import { type WantedPicture, wantedPictures } from '../../../mail/photographs.ts'
import type { InboundOne } from './inbound-data.ts'

type Email = Pick<Extract<InboundOne, { channel: 'email' }>, 'id' | 'attachments'>

const dataAddress = (file: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error))
    reader.readAsDataURL(file)
  })

const loadOne = async (id: string, { position, type }: WantedPicture, signal: AbortSignal): Promise<string> => {
  const path = { id, position: String(position) }
  const route = '/api/internal/inbound-emails/{id}/attachments/{position}'
  const file = (await unwrap(api.GET(route, { params: { path }, parseAs: 'blob', signal }))) as Blob
  return dataAddress(file.slice(0, file.size, type))
}

/** The page loads them, because the frame of a mail requests nothing. One that cannot be loaded is left out. */
export const loadPictures = async (
  { id, attachments }: Email,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<AttachedPictures> => {
  const pictures = new Map<string, string>()
  for (const one of wantedPictures(attachments, wanted)) {
    const url = await loadOne(id, one, signal).catch(() => undefined)
    if (url !== undefined) pictures.set(one.id, url)
  }
  return pictures
}
