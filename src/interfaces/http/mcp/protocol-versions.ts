/** The versions of the tool protocol that this service speaks, newest first. */
export const versions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const

export const latestVersion = versions[0]

export const isSpoken = (version: string): boolean => versions.some((known) => known === version)
