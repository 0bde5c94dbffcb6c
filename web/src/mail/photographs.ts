/** The pictures that a mail may contain. A drawing can have any number of shapes, so SVG is not among them. */
const types = 'image/(?:png|jpe?g|gif|webp|avif|bmp|x-icon)'

/** Of a `data:` address. */
export const photograph = new RegExp(`^data:${types};base64,[a-z0-9+/=]*$`, 'i')

const photographType = new RegExp(`^${types}$`, 'i')

/** In Base64 they are a third larger, and stay below what the cleaning of a mail accepts. */
const most = { pictures: 20, bytes: 5_000_000 }

type Attachment = { content_type: string; size: number; url: string | null; content_id: string | null }

export type WantedPicture = { id: string; position: number; type: string }

/** The attachments that a mail shows by their content ids. Of several with one id, the first counts. */
export const wantedPictures = (attachments: readonly Attachment[], wanted: readonly string[]): WantedPicture[] => {
  const left = new Set(wanted)
  const found: WantedPicture[] = []
  let bytes = 0
  for (const [position, { content_type, size, url, content_id: id }] of attachments.entries()) {
    if (found.length === most.pictures) break
    const isShown = id !== null && left.has(id) && url !== null && photographType.test(content_type)
    if (!isShown || bytes + size > most.bytes) continue
    left.delete(id)
    bytes += size
    found.push({ id, position, type: content_type.toLowerCase() })
  }
  return found
}
