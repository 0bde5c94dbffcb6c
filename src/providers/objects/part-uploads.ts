/** Uploads of objects whose size is not known beforehand, part by part. */
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import { megabyte } from '../../platform/ground/units.ts'

type Needs = {
  sdk: () => Promise<typeof import('@aws-sdk/client-s3')>
  client: () => Promise<S3Client>
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

export const makePartUploads = ({ sdk, client, bucket: Bucket, prefix, faultless, unlessPresent }: Needs) => {
  const begin = (Key: string): Promise<string> =>
    faultless(async () => {
      const { CreateMultipartUploadCommand } = await sdk()
      const { UploadId } = await (await client()).send(new CreateMultipartUploadCommand({ Bucket, Key }))
      if (UploadId === undefined) throw new Error('the store began no upload')
      return UploadId
    })

  const addPart = (Key: string, UploadId: string, PartNumber: number, Body: Buffer): Promise<CompletedPart> =>
    faultless(async () => {
      const { UploadPartCommand } = await sdk()
      const sent = await (await client()).send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))
      return { PartNumber, ETag: sent.ETag, ChecksumCRC32: sent.ChecksumCRC32 }
    })

  const abort = async (Key: string, UploadId: string): Promise<void> => {
    const { AbortMultipartUploadCommand } = await sdk()
    await (await client()).send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
  }

  const complete = async (Key: string, UploadId: string, Parts: CompletedPart[]): Promise<boolean> => {
    const { CompleteMultipartUploadCommand } = await sdk()
    const upload = { Bucket, Key, UploadId, MultipartUpload: { Parts } }
    return unlessPresent(async () =>
      (await client()).send(new CompleteMultipartUploadCommand({ ...upload, IfNoneMatch: '*' })),
    )
  }

  return {
    /** `putWhole` stores content that fits into one part. */
    write: async (
      name: string,
      content: AsyncIterable<Buffer>,
      putWhole: (content: Buffer) => Promise<boolean>,
    ): Promise<boolean> => {
      const Key = `${prefix}${name}`
      const parts = partsOf(content)
      const first = await parts.next()
      const whole = first.done ? Buffer.alloc(0) : first.value
      if (whole.length < partSize(1)) return putWhole(whole)
      const uploadId = await begin(Key)
      try {
        const done = [await addPart(Key, uploadId, 1, whole)]
        for await (const part of parts) done.push(await addPart(Key, uploadId, done.length + 1, part))
        const stored = await complete(Key, uploadId, done)
        if (!stored) await abort(Key, uploadId).catch(() => undefined)
        return stored
      } catch (error) {
        // Otherwise the store keeps the parts. If this fails too, `removeUnfinished` removes them.
        await abort(Key, uploadId).catch(() => undefined)
        throw error
      } finally {
        await parts.return(undefined)
      }
    },

    removeUnfinished: (before: Date): Promise<number> =>
      faultless(async () => {
        const { ListMultipartUploadsCommand } = await sdk()
        // One page is enough: the next run sees the rest.
        const { Uploads = [] } = await (await client()).send(
          new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }),
        )
        const old = Uploads.filter(({ Initiated }) => Initiated !== undefined && Initiated < before)
        for (const { Key, UploadId } of old) if (Key && UploadId) await abort(Key, UploadId)
        return old.length
      }),
  }
}
