/** What is at hand, or on its way. Most of what a send asks for is at hand, and need not be waited for. */
export type AtHand<T> = T | Promise<T>

/** Goes on with it: at once where it is at hand. */
export const whenThere = <A, B>(value: AtHand<A>, next: (there: A) => B): AtHand<B> =>
  value instanceof Promise ? value.then(next) : next(value)
