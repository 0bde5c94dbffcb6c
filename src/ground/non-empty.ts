/** The list, or nothing where it has nothing: JSON then leaves it out. */
export const nonEmpty = <T>(list: T[]): T[] | undefined => (list.length === 0 ? undefined : list)
