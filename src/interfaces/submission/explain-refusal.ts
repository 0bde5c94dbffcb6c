/** Says why a client cannot authenticate. Only the holder of a genuine key learns what became of that key. */
import type { Callers, KeyFault } from '../../customers/keys/callers.ts'
import { isKeyShaped } from '../../customers/keys/key-secret.ts'
import { Failure } from '../../platform/ground/errors.ts'

const reasons: Record<KeyFault, string> = {
  other: 'the password must be an API key, which starts with svc_live_ or svc_test_.',
  mistyped: 'the password is not a whole API key. Copy all 47 characters of the key.',
  unknown: 'the password must be a valid API key. This key does not exist.',
  revoked: 'this API key is revoked. Use another key.',
  expired: 'this API key has expired. Use another key, or change its expiry.',
}

/** Returns the failure with a message for SMTP clients. Any other error is returned unchanged. */
export const makeExplainRefusal =
  (callers: Pick<Callers, 'faultOf'>) =>
  async (failure: unknown, { user, key }: { user: string; key: string }, at: number): Promise<unknown> => {
    if (!(failure instanceof Failure)) return failure
    if (failure.code === 'INSUFFICIENT_SCOPE') {
      return new Failure(failure.code, { message: 'This API key does not have the scope send:email.' })
    }
    if (failure.code !== 'UNAUTHORIZED') return failure
    if (isKeyShaped(user)) {
      const message = 'Authentication failed: the API key must be the password. The user name can be any text.'
      return new Failure(failure.code, { message })
    }
    const fault = await callers.faultOf(key, at)
    return fault ? new Failure(failure.code, { message: `Authentication failed: ${reasons[fault]}` }) : failure
  }
