/** What the browser carries to the identity provider of an org and back. It is sealed, so that nobody can make one. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Vault } from '../../../platform/ground/crypto.ts'

export const tripSeconds = 600
const sealContext = 'cookie service_oauth sso'

const Trip = z.object({
  kind: z.enum(['saml', 'oidc']),
  orgId: z.string(),
  redirectTo: z.string(),
  expires: z.number(),
  /** The SAML request. */
  requestId: z.string().optional(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
})
export type SsoTrip = z.output<typeof Trip>

const random = (): string => randomBytes(32).toString('base64url')

export const makeSsoTrips = ({ clock, vault }: { clock: Clock; vault: Vault }) => ({
  begin: (kind: SsoTrip['kind'], orgId: string, redirectTo: string): SsoTrip => ({
    kind,
    orgId,
    redirectTo,
    expires: clock.millis() + tripSeconds * 1_000,
    state: random(),
    nonce: random(),
    verifier: random(),
  }),
  seal: (trip: SsoTrip): string => vault.seal(JSON.stringify(trip), sealContext),
  /** Undefined when this browser did not begin such a sign-in, or too long ago. */
  open: (kind: SsoTrip['kind'], sealed: string | undefined): SsoTrip | undefined => {
    if (sealed === undefined) return undefined
    try {
      const trip = Trip.parse(JSON.parse(vault.open(sealed, sealContext)))
      return trip.kind === kind && trip.expires > clock.millis() ? trip : undefined
    } catch {
      return undefined
    }
  },
})
