/** Which endpoints are failing, and how busy the others are. All queues of one worker share this. */

/** An endpoint is failing when its last attempt failed, until one succeeds. */
export interface EndpointHealth {
  isFailing(endpointId: string): boolean
  /** Whether so many attempts at healthy endpoints are in flight that failing ones have to wait. */
  isBusy(): boolean
  /** Runs an attempt and counts it while it is in flight. */
  track<T>(endpointId: string, attempt: () => Promise<T>): Promise<T>
  /** Stores the result of the last attempt. */
  update(endpointId: string, delivered: boolean): void
  forget(endpointId: string): void
}

const busyFrom = 20

export const makeEndpointHealth = (): EndpointHealth => {
  const failing = new Set<string>()
  let healthyInFlight = 0
  return {
    isFailing: (endpointId) => failing.has(endpointId),
    isBusy: () => healthyInFlight >= busyFrom,
    track: async (endpointId, attempt) => {
      const healthy = !failing.has(endpointId)
      if (healthy) healthyInFlight++
      try {
        return await attempt()
      } finally {
        if (healthy) healthyInFlight--
      }
    },
    update: (endpointId, delivered) => {
      if (delivered) failing.delete(endpointId)
      else failing.add(endpointId)
    },
    forget: (endpointId) => {
      failing.delete(endpointId)
    },
  }
}
