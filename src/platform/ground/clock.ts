/** The only source of the current time. SQL never reads the clock of the database: callers pass the time in. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  millis(): number
  now(): Date
}

export const systemClock: Clock = {
  millis: () => Date.now(),
  now: () => new Date(),
}

/** The clock of the development tools and the tests. It keeps ticking; `advance` adds an offset. */
export const movableClock = (offsetMs = 0) => {
  let offset = offsetMs
  return {
    millis: (): number => Date.now() + offset,
    now: (): Date => new Date(Date.now() + offset),
    /** Milliseconds by which this clock is ahead of the system clock. */
    offset: (): number => offset,
    /** Moves the clock forward. */
    advance: (milliseconds: number): void => {
      if (!(milliseconds >= 0) || !Number.isFinite(milliseconds)) {
        throw new RangeError('the clock only moves forward')
      }
      offset += milliseconds
    },
    /** Returns to the system time. Rows that were created in between keep their times, which are then in the future. */
    reset: (): void => {
      offset = 0
    },
  }
}

export type MovableClock = ReturnType<typeof movableClock>
