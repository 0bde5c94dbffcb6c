/** A value or a promise of it. Most lookups of a send hit a cache, and an `await` would only slow them down. */
export type MaybePromise<T> = T | Promise<T>

/** Calls `next` with the value: immediately, unless it is a promise. */
export const andThen = <A, B>(value: MaybePromise<A>, next: (resolved: A) => MaybePromise<B>): MaybePromise<B> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Calls `onError` with what `work` throws or rejects with. */
export const orElse = <T>(work: () => MaybePromise<T>, onError: (error: unknown) => never): MaybePromise<T> => {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(onError) : value
  } catch (error) {
    return onError(error)
  }
}

/** Calls `done` after the work, with its error if it fails. */
export const whenDone = (work: () => MaybePromise<void>, done: (error?: Error) => void): void => {
  let working: MaybePromise<void>
  try {
    working = work()
  } catch (error) {
    done(error as Error)
    return
  }
  if (working instanceof Promise) working.then(() => done(), done)
  else done()
}
