/** Joins class names, leaving out those that do not apply. */
export const classes = (...names: (string | false | undefined | null)[]): string => names.filter(Boolean).join(' ')
