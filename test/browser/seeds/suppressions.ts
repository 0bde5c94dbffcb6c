import { askWith, signIn } from '../../clients/people.ts'
import type { Seed } from '../every-page.ts'

/** Suppressions of every reason. Those of recipients arrive as reports, so their reasons are set in the database. */
const seedSuppressions: Seed = async ({ t, org, people }) => {
  const cookie = await signIn(t, people.owner.userId)
  const reasons = ['bounce', 'complaint', 'unsubscribe', 'manual', 'stop']
  for (const reason of reasons) {
    const target =
      reason === 'stop'
        ? { channel: 'sms', value: '+14155550177' }
        : { channel: 'email', value: `${reason}@example.com` }
    await askWith(t, cookie, 'POST', '/api/internal/suppressions', { body: target })
    await t.database.sql('update suppressions set reason = $3 where org_id = $1 and value = $2', [
      org.org.id,
      target.value,
      reason,
    ])
  }
  return undefined
}

export default seedSuppressions
