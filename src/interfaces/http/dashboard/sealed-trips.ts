/** What the browser carries to an identity provider and back. It is sealed, so that nobody can read or make one. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Vault } from '../../../platform/ground/crypto.ts'

export const tripSeconds = 600

const text = z.string().max(8_000).optional()

/** The query with which a provider sends the browser back. */
export const Returned = z.object({ code: text, state: text, iss: text, error: text, error_description: text })

const Trip = z.object({
  redirectTo: z.string(),
  expires: z.number(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
})

const random = (): string => randomBytes(32).toString('base64url')

/** `shape` has what the trips of one kind of provider carry besides. */
export const makeTrips = <Shape extends z.ZodRawShape>(
  { clock, vault }: { clock: Clock; vault: Vault },
  sealContext: string,
  shape: Shape,
) => {
  const Own = z.object(shape)
  type Own = z.output<typeof Own>
  return {
    begin: (own: Own, redirectTo: string): Own & z.output<typeof Trip> => ({
      ...own,
      redirectTo,
      expires: clock.millis() + tripSeconds * 1_000,
      state: random(),
      nonce: random(),
      verifier: random(),
    }),
    seal: (trip: Own & z.output<typeof Trip>): string => vault.seal(JSON.stringify(trip), sealContext),
    /** Undefined when this browser did not begin such a sign-in, or too long ago. */
    open: (sealed: string | undefined, isSuch: (own: Own) => boolean): (Own & z.output<typeof Trip>) | undefined => {
      if (sealed === undefined) return undefined
      try {
        const opened = JSON.parse(vault.open(sealed, sealContext))
        const trip = { ...Own.parse(opened), ...Trip.parse(opened) }
        return isSuch(trip) && trip.expires > clock.millis() ? trip : undefined
      } catch {
        return undefined
      }
    },
  }
}
