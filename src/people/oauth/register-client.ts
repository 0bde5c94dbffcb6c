/** Dynamic registration of public clients (RFC 7591). Anyone may register, so everything about it is bounded. */
import { z } from 'zod'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { sha256Hex } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import { countedNetworks } from '../../platform/ground/ip-address.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../platform/limits/per-address.ts'
import { OAuthFault } from './oauth-error.ts'
import { isRedirectUri } from './redirect-uri.ts'
import { insertClient } from './store/client-rows.ts'

const perHour = 20
/** Of all registered clients, how many may wait for the first person who allows them something. */
const maxUnused = 1_000

const Metadata = z.object({
  redirect_uris: z.array(z.string().max(2_000)).max(10).min(1),
  client_name: z
    .string()
    .trim()
    .max(100)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: names with control or bidirectional characters deceive readers
    .regex(/^[^\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]*$/)
    .optional(),
  grant_types: z.array(z.string().max(100)).max(20).optional(),
  response_types: z.array(z.string().max(100)).max(20).optional(),
})

/** The widest network of an address, as a hash: it only has to tell sources apart. */
const sourceOf = (address: string | null): string => sha256Hex(countedNetworks(address).at(-1)?.name ?? '').slice(0, 32)

const lacks = (given: string[] | undefined, needed: string): boolean => given !== undefined && !given.includes(needed)

const read = (metadata: unknown): { name: string; redirectUris: string[] } => {
  const parsed = Metadata.safeParse(metadata)
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? ''
    const code = path.startsWith('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata'
    throw new OAuthFault(code, path === '' ? 'The body must be a JSON object.' : `${path} is missing or invalid.`)
  }
  const { redirect_uris: given, client_name, grant_types, response_types } = parsed.data
  if (lacks(grant_types, 'authorization_code')) {
    throw new OAuthFault('invalid_client_metadata', 'grant_types must include authorization_code.')
  }
  if (lacks(response_types, 'code')) {
    throw new OAuthFault('invalid_client_metadata', 'response_types must include code.')
  }
  if (!given.every(isRedirectUri)) {
    throw new OAuthFault('invalid_redirect_uri', 'Each redirect URI must be https, or http on a loopback address.')
  }
  return { name: client_name || 'Unnamed client', redirectUris: [...new Set(given)] }
}

export const makeRegisterClient = ({ db, clock, limiter }: StoreNeeds & { limiter: Limiter | undefined }) => {
  const countRegistration = async (address: string | null): Promise<void> => {
    const limit = { limit: perHour, windowMs: hourMs }
    const buckets = bucketsPerAddress(address, limit, (network) => `{oauth}:register:${network}`)
    const until = refusedUntil(await limiter?.take(buckets, clock.millis()))
    if (until === undefined) return
    const retryAfter = (until - clock.millis()) / 1_000
    throw new OAuthFault('temporarily_unavailable', 'Too many registrations from this address. Try again later.', {
      status: 429,
      retryAfter,
    })
  }

  return async (metadata: unknown, address: string | null) => {
    const { name, redirectUris } = read(metadata)
    await countRegistration(address)
    const at = clock.now()
    const id = newId('oauthClient', at.getTime())
    await db.change(insertClient, { id, name, redirectUris, source: sourceOf(address), at, maxUnused })
    return {
      client_id: id,
      client_name: name,
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    }
  }
}

export type RegisterClient = ReturnType<typeof makeRegisterClient>
