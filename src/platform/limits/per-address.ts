/** Limits per caller address. Every one of them is made here, so that none counts the single addresses of IPv6. */
import { countedNetworks } from '../ground/ip-address.ts'
import type { Bucket, TakeResult } from './limiter.ts'

/** The buckets in which a call from this address counts: one for IPv4, two for IPv6. */
export const bucketsPerAddress = (
  address: string | null,
  { limit, windowMs }: Omit<Bucket, 'name'>,
  nameOf: (network: string) => string,
): Bucket[] =>
  countedNetworks(address).map(({ name, times }) => ({ name: nameOf(name), limit: limit * times, windowMs }))

/** When the bucket that refused a call has room again. Undefined if no bucket did. */
export const refusedUntil = (taken: TakeResult | null | undefined): number | undefined =>
  taken && !taken.allowed ? taken.states[taken.refusedBy]?.resetAt : undefined
