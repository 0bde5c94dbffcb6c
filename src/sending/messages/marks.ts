/**
 * Marks are hashes of tags and recipients, by which lists find messages. The org is part of each hash, so a search for
 * a tag that every org uses reads only one org's rows. Two values can have the same mark, so a search also compares
 * the values.
 */
import { crc32 } from 'node:zlib'

export const tagMark = (orgId: string, tag: string): number => crc32(`${orgId} ${tag}`) & 0x7fffffff

/** Always negative, unlike the mark of a tag, so that an erasure can remove only these. Ignores case. */
export const recipientMark = (orgId: string, address: string): number =>
  crc32(`${orgId} ${address.toLowerCase()}`) | 0x80000000
