import type { HeldUntil } from '../messages/settle-claimed.ts'
import { outOfQuietHours } from './quiet-hours.ts'

/** Later than a quiet period begins, no start of a send matters. */
const longAgo = new Date(0)

/** A text message of a job that was put off, or whose worker was late, does not arrive at night. */
export const heldUntil: HeldUntil = ({ job_id, channel, org_quiet_hours, to_addresses }, at) =>
  job_id !== null && channel === 'sms' && org_quiet_hours ? outOfQuietHours(to_addresses[0] ?? '', at, longAgo) : at
