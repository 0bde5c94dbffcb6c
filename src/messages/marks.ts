/**
 * Tags and recipients as the numbers that lists are searched by. The org is part of each: a word that all orgs use
 * costs each of them its own rows only. Two words may share a number, so a search compares the words as well.
 */
import { crc32 } from 'node:zlib'

export const tagMark = (orgId: string, tag: string): number => crc32(`${orgId} ${tag}`) & 0x7fffffff

/** Negative, so that an erasure can tell recipients from tags. Addresses compare without regard to case. */
export const recipientMark = (orgId: string, address: string): number =>
  crc32(`${orgId} ${address.toLowerCase()}`) | 0x80000000
