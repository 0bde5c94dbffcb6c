/** An object store that speaks the API of Amazon S3. Buckets are part of the path, as most other stores require. */
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, S3, S3ClientConfig } from '@aws-sdk/client-s3'
import type { ObjectPlace } from '../../platform/ground/object-url.ts'
import type { SdkError } from '../aws-faults.ts'
import { expecting } from '../expected-errors.ts'
import { makeFaultless, type ObjectStore, ObjectStoreFault, TooLargeFault } from './object-store.ts'
import { makePartUploads } from './part-uploads.ts'

type Needs = {
  place: ObjectPlace
  region: string
  /** Undefined: the SDK reads its own variables, such as AWS_ENDPOINT_URL_S3. */
  endpoint?: string
  /** Undefined: the SDK's credential provider chain. */
  credentials?: NonNullable<S3ClientConfig['credentials']>
  timeouts?: { connectMs: number; responseMs: number }
  /** How often a request is tried. By default once, because the caller decides whether and when to try again. */
  attempts?: number
}

const statusOf = (error: unknown): number | undefined => (error as SdkError).$metadata?.httpStatusCode
const isPresent = (error: unknown): boolean => statusOf(error) === 412
const isAbsent = (error: unknown): boolean => ['NoSuchKey', 'NotFound'].includes((error as Error).name)

const fullNames = new Set(['QuotaExceeded', 'XMinioStorageFull', 'EntityTooLarge'])

/** Without the other fields of the error, which can quote the signed request. */
const faultOf = (error: unknown): Error => {
  if (error instanceof TooLargeFault || error instanceof ObjectStoreFault) return error
  const { name, message } = error as Error
  const status = statusOf(error)
  const full = status === 507 || fullNames.has(name)
  return new ObjectStoreFault(`${name}: ${message}${status === undefined ? '' : ` (status ${status})`}`, full)
}

const { faultless, orAbsent } = makeFaultless(faultOf, isAbsent)

/** Returns false if there is an object of this name. */
const unlessPresent = (work: () => Promise<unknown>): Promise<boolean> =>
  faultless(async () => (await expecting(isPresent, work())) !== undefined)

const readBody = async ({ Body }: GetObjectCommandOutput, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of (Body ?? []) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new TooLargeFault(`the object has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export const makeS3Store = (needs: Needs): ObjectStore => {
  const { place, region, endpoint, credentials, timeouts = { connectMs: 5_000, responseMs: 10_000 }, attempts } = needs
  const { bucket: Bucket, prefix: ownPrefix } = place
  let opened: S3 | undefined

  const client = async (): Promise<S3> => {
    // Loaded with the first use, because the SDK is large and most processes never use it.
    const { S3 } = await import('@aws-sdk/client-s3')
    opened ??= new S3({
      region,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
      forcePathStyle: true,
      maxAttempts: attempts ?? 1,
      requestHandler: {
        connectionTimeout: timeouts.connectMs,
        requestTimeout: timeouts.responseMs,
        socketTimeout: timeouts.responseMs,
        throwOnRequestTimeout: true,
      },
    })
    return opened
  }

  async function* list(prefix = ''): AsyncGenerator<string> {
    for (let token: string | undefined; ; ) {
      const listed = { Bucket, Prefix: `${ownPrefix}${prefix}`, ContinuationToken: token }
      const page = await faultless(async () => (await client()).listObjectsV2(listed))
      for (const { Key = '' } of page.Contents ?? []) yield Key.slice(ownPrefix.length)
      token = page.NextContinuationToken
      if (!page.IsTruncated || token === undefined) return
    }
  }

  const keyOf = (name: string): string => `${ownPrefix}${name}`

  const put = (name: string, content: Buffer): Promise<boolean> =>
    unlessPresent(async () => (await client()).putObject({ Bucket, Key: keyOf(name), Body: content, IfNoneMatch: '*' }))

  const find = async (name: string, range?: string): Promise<GetObjectCommandOutput> =>
    (await client()).getObject({ Bucket, Key: keyOf(name), Range: range })

  const uploads = makePartUploads({ client, bucket: Bucket, prefix: ownPrefix, faultless, unlessPresent })

  return {
    put,
    write: (name, content) => uploads.write(name, content, (whole) => put(name, whole)),
    get: (name, maxBytes) => orAbsent(async () => readBody(await find(name), maxBytes)),
    read: (name, range) =>
      orAbsent(async () => (await find(name, range && `bytes=${range.from}-${range.to}`)).Body as Readable),
    sizeOf: (name) =>
      orAbsent(async () => (await (await client()).headObject({ Bucket, Key: keyOf(name) })).ContentLength ?? 0),
    remove: (name) =>
      faultless(async () => {
        await (await client()).deleteObject({ Bucket, Key: keyOf(name) })
      }),
    removeUnfinished: uploads.removeUnfinished,
    list,
    close: () => {
      opened?.destroy()
      opened = undefined
    },
  }
}
