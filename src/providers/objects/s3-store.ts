/** An object store that speaks the API of Amazon S3. Buckets are part of the path, as most other stores require. */
import type { GetObjectCommandOutput, S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import type { ObjectPlace } from '../../ground/object-url.ts'
import { type ObjectStore, ObjectStoreFault, ObjectTooLarge } from './object-store.ts'

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
}

type SdkFault = Error & { $metadata?: { httpStatusCode?: number } }

const statusOf = (error: unknown): number | undefined => (error as SdkFault).$metadata?.httpStatusCode

/** Without the other fields of the error, which can quote the signed request. */
const faultOf = (error: unknown): Error => {
  if (error instanceof ObjectTooLarge) return error
  const { name, message } = error as Error
  const status = statusOf(error)
  return new ObjectStoreFault(`${name}: ${message}${status === undefined ? '' : ` (status ${status})`}`)
}

const readBody = async ({ Body }: GetObjectCommandOutput, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of (Body ?? []) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new ObjectTooLarge(`the object has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export const makeS3Store = (needs: Needs): ObjectStore => {
  const { place, region, endpoint, credentials, timeouts = { connectMs: 5_000, responseMs: 10_000 } } = needs
  const { bucket: Bucket, prefix: ownPrefix } = place
  let opened: S3Client | undefined

  const client = async (): Promise<S3Client> => {
    const { S3Client } = await loadS3Sdk()
    opened ??= new S3Client({
      region,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
      forcePathStyle: true,
      // The caller decides whether and when to try again.
      maxAttempts: 1,
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

  return {
    put: async (name, content) => {
      const { PutObjectCommand } = await loadS3Sdk()
      const command = new PutObjectCommand({ Bucket, Key: `${ownPrefix}${name}`, Body: content, IfNoneMatch: '*' })
      try {
        await (await client()).send(command)
        return true
      } catch (error) {
        if (statusOf(error) === 412) return false
        throw faultOf(error)
      }
    },
    get: async (name, maxBytes) => {
      const { GetObjectCommand } = await loadS3Sdk()
      try {
        const found = await (await client()).send(new GetObjectCommand({ Bucket, Key: `${ownPrefix}${name}` }))
        return await readBody(found, maxBytes)
      } catch (error) {
        if ((error as Error).name === 'NoSuchKey') return undefined
        throw faultOf(error)
      }
    },
    list,
    close: () => {
      opened?.destroy()
      opened = undefined
    },
  }
}
