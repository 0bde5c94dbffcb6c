/** The result of the work, or that of `late` if the work takes longer. */
export const withDeadline = <T, L>(ms: number, work: Promise<T>, late: () => L): Promise<T | L> => {
  const { promise: over, resolve } = Promise.withResolvers<L>()
  const timer = setTimeout(() => resolve(Promise.try(late)), ms)
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
