/** Units of time in milliseconds, and of size in bytes. */
export const secondMs = 1_000
export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

export const kilobyte = 1_024
export const megabyte = 1_048_576
