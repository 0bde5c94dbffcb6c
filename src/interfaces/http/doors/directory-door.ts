/** Admits directories to /scim/v2 by their token. Neither a session nor an API key counts here. */
import type { FastifyRequest } from 'fastify'
import type { DirectoryCaller, ManageScimTokens } from '../../../people/scim/manage-tokens.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { minuteMs } from '../../../platform/ground/units.ts'
import type { Bucket, Limiter } from '../../../platform/limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../../platform/limits/per-address.ts'
import type { Door } from '../area.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import type { DirectoryAccess, Entered } from '../route.ts'

const perMinute = 600

const unauthorized = (): Failure =>
  new Failure('UNAUTHORIZED', {
    message:
      'The directory token is missing or invalid. Send it in the Authorization header: "Authorization: Bearer <token>".',
    headers: { 'www-authenticate': 'Bearer' },
  })

type Admitted = DirectoryCaller & { address: string | null }

type Needs = {
  tokens: Pick<ManageScimTokens, 'find'>
  limiter: Limiter | undefined
  clock: Clock
  proxies: ProxyTrust
}

type DirectoryDoor = Door<Admitted, Entered<DirectoryAccess>> & {
  /** Only a directory with a token learns which paths and methods exist. */
  admitUnknown(request: FastifyRequest): Promise<Admitted>
}

export const makeDirectoryDoor = ({ tokens, limiter, clock, proxies }: Needs): DirectoryDoor => {
  const limit = { limit: perMinute, windowMs: minuteMs }

  const count = async (buckets: Bucket[]): Promise<void> => {
    const now = clock.millis()
    const until = refusedUntil(await limiter?.take(buckets, now))
    if (until === undefined) return
    throw new Failure('RATE_LIMITED', {
      message: `At most ${perMinute} requests per minute are allowed. Try again later.`,
      retryAfter: (until - now) / 1000,
    })
  }

  const admit = async (request: FastifyRequest): Promise<Admitted> => {
    const address = callerAddress(request.raw, proxies)
    const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    const caller = token === undefined ? undefined : await tokens.find(token)
    if (!caller) {
      await count(bucketsPerAddress(address, limit, (network) => `{scim}:refused:${network}`))
      throw unauthorized()
    }
    await count([{ ...limit, name: `{${caller.orgId}}:scim:${caller.tokenId}` }])
    request.who = { orgId: caller.orgId }
    return { ...caller, address }
  }

  return {
    admit,
    admitUnknown: admit,
    enter: ({ orgId, address }, { headers }) => ({
      orgId,
      actor: { kind: 'nobody', ip: address, userAgent: headers['user-agent'] ?? '' },
    }),
  }
}
