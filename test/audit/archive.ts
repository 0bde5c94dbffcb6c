/** The archive of the audit log on a simulated S3. */
import type { ObjectStore } from '../../src/providers/objects/object-store.ts'
import { makeS3Store } from '../../src/providers/objects/s3-store.ts'
import { type S3Server, s3Credentials } from '../servers/s3.ts'

export const storeOn = (s3: S3Server): ObjectStore =>
  makeS3Store({
    place: { bucket: 'archive', prefix: '' },
    region: 'eu-west-1',
    endpoint: s3.url,
    credentials: s3Credentials,
  })

export const linesOf = (content: Buffer) =>
  content
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
