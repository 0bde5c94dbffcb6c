import { parseObjectUrl } from '../../platform/ground/object-url.ts'
import { makeDiskStore } from './disk-store.ts'
import type { ObjectStore } from './object-store.ts'
import { makeS3Store } from './s3-store.ts'

/** Parts are large, so they take longer than a small object. */
const timeouts = { connectMs: 5_000, responseMs: 60_000 }

/** A store for files at `s3://bucket/prefix` or in a folder. A request to S3 is tried three times. */
export const openFileStore = (place: string, region: string): ObjectStore => {
  const inBucket = parseObjectUrl(place)
  return inBucket ? makeS3Store({ place: inBucket, region, timeouts, attempts: 3 }) : makeDiskStore({ folder: place })
}
