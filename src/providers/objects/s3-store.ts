/** An object store that speaks the API of Amazon S3. Buckets are part of the path, as most other stores require. */
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import type { ObjectPlace } from '../../platform/ground/object-url.ts'
import { type ObjectStore, ObjectStoreFault, TooLargeFault } from './object-store.ts'
import { makePartUploads } from './part-uploads.ts'

/** Loaded with the first use, because the SDK is large and most processes never use it. */
const loadS3Sdk = () => import('@aws-sdk/client-s3')

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

type SdkFault = Error & { $metadata?: { httpStatusCode?: number } }

const statusOf = (error: unknown): number | undefined => (error as SdkFault).$metadata?.httpStatusCode

const fullNames = new Set(['QuotaExceeded', 'XMinioStorageFull', 'EntityTooLarge'])

/** Without the other fields of the error, which can quote the signed request. */
const faultOf = (error: unknown): Error => {
  if (error instanceof TooLargeFault || error instanceof ObjectStoreFault) return error
  const { name, message } = error as Error
  const status = statusOf(error)
  const full = status === 507 || fullNames.has(name)
  return new ObjectStoreFault(`${name}: ${message}${status === undefined ? '' : ` (status ${status})`}`, full)
}

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
  let opened: S3Client | undefined

  const client = async (): Promise<S3Client> => {
    const { S3Client } = await loadS3Sdk()
    opened ??= new S3Client({
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
    const { ListObjectsV2Command } = await loadS3Sdk()
    for (let token: string | undefined; ; ) {
      const page = await (await client())
        .send(new ListObjectsV2Command({ Bucket, Prefix: `${ownPrefix}${prefix}`, ContinuationToken: token }))
        .catch((error) => {
          throw faultOf(error)
        })
      for (const { Key = '' } of page.Contents ?? []) yield Key.slice(ownPrefix.length)
      token = page.NextContinuationToken
      if (!page.IsTruncated || token === undefined) return
    }
  }

  const faultless = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw faultOf(error)
    }
  }

  /** Undefined if there is no such object. */
  const orAbsent = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      if ((error as Error).name === 'NoSuchKey' || (error as Error).name === 'NotFound') return undefined
      throw faultOf(error)
    }
  }

  /** Returns false if there is an object of this name. */
  const unlessPresent = async (work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work()
      return true
    } catch (error) {
      if (statusOf(error) === 412) return false
      throw faultOf(error)
    }
  }

  const keyOf = (name: string): string => `${ownPrefix}${name}`

  const put: ObjectStore['put'] = async (name, content) => {
    const { PutObjectCommand } = await loadS3Sdk()
    const command = new PutObjectCommand({ Bucket, Key: keyOf(name), Body: content, IfNoneMatch: '*' })
    return unlessPresent(async () => (await client()).send(command))
  }

  const find = async (name: string, range?: string): Promise<GetObjectCommandOutput> => {
    const { GetObjectCommand } = await loadS3Sdk()
    return (await client()).send(
      new GetObjectCommand({ Bucket, Key: keyOf(name), ...(range !== undefined && { Range: range }) }),
    )
  }

  const uploads = makePartUploads({
    sdk: loadS3Sdk,
    client,
    bucket: Bucket,
    prefix: ownPrefix,
    faultless,
    unlessPresent,
  })

  return {
    put,
    write: (name, content) => uploads.write(name, content, (whole) => put(name, whole)),
    get: (name, maxBytes) => orAbsent(async () => readBody(await find(name), maxBytes)),
    read: (name, range) =>
      orAbsent(async () => (await find(name, range && `bytes=${range.from}-${range.to}`)).Body as Readable),
    sizeOf: (name) =>
      orAbsent(async () => {
        const { HeadObjectCommand } = await loadS3Sdk()
        const found = await (await client()).send(new HeadObjectCommand({ Bucket, Key: keyOf(name) }))
        return found.ContentLength ?? 0
      }),
    remove: (name) =>
      faultless(async () => {
        const { DeleteObjectCommand } = await loadS3Sdk()
        await (await client()).send(new DeleteObjectCommand({ Bucket, Key: keyOf(name) }))
      }),
    removeUnfinished: uploads.removeUnfinished,
    list,
    close: () => {
      opened?.destroy()
      opened = undefined
    },
  }
}
