/** The list, or undefined when it is empty, so that JSON omits it. */
export const nonEmpty = <T>(list: T[]): T[] | undefined => (list.length === 0 ? undefined : list)
