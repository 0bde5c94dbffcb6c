/** A value or a promise of it. Most lookups of a send hit a cache, and an `await` would only slow them down. */
export type MaybePromise<T> = T | Promise<T>

/** Calls `next` with the value: immediately, unless it is a promise. */
export const andThen = <A, B>(value: MaybePromise<A>, next: (resolved: A) => B): MaybePromise<B> =>
  value instanceof Promise ? value.then(next) : next(value)
