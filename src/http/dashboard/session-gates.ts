/** Checks the browser session of /api/internal requests. API keys are not accepted there. */
import type { FastifyRequest } from 'fastify'
import type { Session, Sessions } from '../../accounts/sessions.ts'
import { Failure } from '../../ground/errors.ts'

export type Member = NonNullable<Session['member']> & { userId: string }

export interface SessionGates {
  /** Returns the signed-in member of the active org. Throws UNAUTHORIZED without a valid session. */
  requireSession(request: FastifyRequest): Promise<Member>
}

const cookieValue = (header: string | undefined, name: string): string | undefined => {
  for (const part of header?.split(';') ?? []) {
    const [key, value] = part.split('=', 2)
    if (key?.trim() === name) return value?.trim()
  }
  return undefined
}

export const makeSessionGates = ({ sessions }: { sessions: Sessions }): SessionGates => ({
  requireSession: async (request) => {
    const cookies = request.headers.cookie
    const token = cookieValue(cookies, 'service_session')
    const activeOrg = cookieValue(cookies, 'service_active_org') ?? null
    const session = token === undefined ? undefined : await sessions.find(token, activeOrg)
    if (!session?.member) throw new Failure('UNAUTHORIZED')
    return { ...session.member, userId: session.userId }
  },
})
