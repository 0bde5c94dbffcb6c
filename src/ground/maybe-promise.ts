/** What is at hand, or on its way. Most of what a send asks for is at hand, and need not be waited for. */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with it: at once where it is at hand. */
export const andThen = <A, B>(value: MaybePromise<A>, next: (there: A) => B): MaybePromise<B> =>
  value instanceof Promise ? value.then(next) : next(value)
