import type { Runner } from '../db/pool.ts'
import { cancelPending } from './store.ts'

const chunk = 5_000

/** Cancels what waits for an endpoint that is off or pauses: some of it, and whether there may be more. */
export const cancelSome = async (on: Runner, orgId: string, endpointId: string): Promise<boolean> =>
  (await on.change(cancelPending, { orgId, endpointId, few: chunk })) > chunk

/** All of it, in statements that stay short however much there is. */
export const cancelRest = async (on: Runner, orgId: string, endpointId: string): Promise<void> => {
  while (await cancelSome(on, orgId, endpointId));
}
