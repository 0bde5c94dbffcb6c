/** Uploads of objects whose size is not known beforehand, part by part. */
import type { CompletedPart, S3 } from '@aws-sdk/client-s3'
import { megabyte } from '../../platform/ground/units.ts'

type Needs = {
  client: () => Promise<S3>
  bucket: string
  prefix: string
  /** Turns errors of the library into faults of the store. */
  faultless: <T>(work: () => Promise<T>) => Promise<T>
  unlessPresent: (work: () => Promise<unknown>) => Promise<boolean>
}

/** An object has at most 10,000 parts. With larger ones at the end, it can have 300 GB. */
const partSize = (part: number): number => (part <= 5_000 ? 8 : 64) * megabyte

/** Groups chunks into parts. A part is larger than asked for by less than a chunk. */
async function* partsOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let bytes = 0
  let part = 1
  for await (const chunk of content) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < partSize(part)) continue
    yield Buffer.concat(chunks)
    chunks = []
    bytes = 0
    part++
  }
  if (bytes > 0) yield Buffer.concat(chunks)
}

type Upload = { Bucket: string; Key: string; UploadId: string }

export const makePartUploads = ({ client, bucket: Bucket, prefix, faultless, unlessPresent }: Needs) => {
  const begin = (Key: string): Promise<Upload> =>
    faultless(async () => {
      const { UploadId } = await (await client()).createMultipartUpload({ Bucket, Key })
      if (UploadId === undefined) throw new Error('the store began no upload')
      return { Bucket, Key, UploadId }
    })

  const addPart = (upload: Upload, PartNumber: number, Body: Buffer): Promise<CompletedPart> =>
    faultless(async () => {
      const { ETag, ChecksumCRC32 } = await (await client()).uploadPart({ ...upload, PartNumber, Body })
      return { PartNumber, ETag, ChecksumCRC32 }
    })

  const abort = async (upload: Upload): Promise<void> => {
    await (await client()).abortMultipartUpload(upload)
  }

  const complete = (upload: Upload, Parts: CompletedPart[]): Promise<boolean> =>
    unlessPresent(async () =>
      (await client()).completeMultipartUpload({ ...upload, MultipartUpload: { Parts }, IfNoneMatch: '*' }),
    )

  return {
    /** `putWhole` stores content that fits into one part. */
    write: async (
      name: string,
      content: AsyncIterable<Buffer>,
      putWhole: (content: Buffer) => Promise<boolean>,
    ): Promise<boolean> => {
      const parts = partsOf(content)
      const first = await parts.next()
      const whole = first.done ? Buffer.alloc(0) : first.value
      if (whole.length < partSize(1)) return putWhole(whole)
      const upload = await begin(`${prefix}${name}`)
      try {
        const done = [await addPart(upload, 1, whole)]
        for await (const part of parts) done.push(await addPart(upload, done.length + 1, part))
        const stored = await complete(upload, done)
        if (!stored) await abort(upload).catch(() => undefined)
        return stored
      } catch (error) {
        // Otherwise the store keeps the parts. If this fails too, `removeUnfinished` removes them.
        await abort(upload).catch(() => undefined)
        throw error
      } finally {
        await parts.return(undefined)
      }
    },

    removeUnfinished: (before: Date): Promise<number> =>
      faultless(async () => {
        // One page is enough: the next run sees the rest.
        const { Uploads = [] } = await (await client()).listMultipartUploads({ Bucket, Prefix: prefix })
        const old = Uploads.filter(({ Initiated }) => Initiated !== undefined && Initiated < before)
        for (const { Key, UploadId } of old) if (Key && UploadId) await abort({ Bucket, Key, UploadId })
        return old.length
      }),
  }
}
