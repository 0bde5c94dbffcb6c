/** Which endpoints are failing, and how busy the others are. All queues of one worker share this. */

const busyFrom = 20

export const makeEndpointHealth = () => {
  /** Endpoints whose last attempt failed. */
  const failing = new Set<string>()
  let healthyInFlight = 0
  return {
    isFailing: (endpointId: string) => failing.has(endpointId),
    /** Whether so many attempts at healthy endpoints are in flight that failing ones have to wait. */
    isBusy: () => healthyInFlight >= busyFrom,
    /** Runs an attempt and counts it while it is in flight. */
    track: async <T>(endpointId: string, attempt: () => Promise<T>): Promise<T> => {
      const healthy = !failing.has(endpointId)
      if (healthy) healthyInFlight++
      try {
        return await attempt()
      } finally {
        if (healthy) healthyInFlight--
      }
    },
    /** Stores the result of the last attempt. */
    update: (endpointId: string, delivered: boolean): void => {
      if (delivered) failing.delete(endpointId)
      else failing.add(endpointId)
    },
    forget: (endpointId: string): void => {
      failing.delete(endpointId)
    },
  }
}

export type EndpointHealth = ReturnType<typeof makeEndpointHealth>
