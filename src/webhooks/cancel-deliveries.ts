import type { Runner } from '../platform/db/pool.ts'
import { cancelPending } from './store/delivery-rows.ts'

const chunk = 5_000

/** Cancels one chunk of the pending deliveries of a disabled or paused endpoint. Returns whether there may be more. */
export const cancelSome = async (on: Runner, orgId: string, endpointId: string): Promise<boolean> =>
  (await on.change(cancelPending, { orgId, endpointId, chunk })) > chunk

/** Cancels all of them, in chunks that keep each statement short. */
export const cancelRest = async (on: Runner, orgId: string, endpointId: string): Promise<void> => {
  while (await cancelSome(on, orgId, endpointId));
}
