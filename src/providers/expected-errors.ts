/** Undefined when the work fails with an expected error. `onExpected` can log it. Other errors are thrown. */
export const expecting = <T>(
  isExpected: (error: unknown) => boolean,
  work: Promise<T>,
  onExpected?: (error: unknown) => void,
): Promise<T | undefined> =>
  work.catch((error) => {
    if (!isExpected(error)) throw error
    onExpected?.(error)
    return undefined
  })
