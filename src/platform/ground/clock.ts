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

export interface MovableClock extends Clock {
  /** Moves the clock forward. */
  advance(milliseconds: number): void
  /** Returns to the system time. Rows that were created in between keep their times, which are then in the future. */
  reset(): void
  /** Milliseconds by which this clock is ahead of the system clock. */
  offset(): number
}

/** The clock of the development tools and the tests. It keeps ticking; `advance` adds an offset. */
export const movableClock = (offsetMs = 0): MovableClock => {
  let offset = offsetMs
  return {
    millis: () => Date.now() + offset,
    now: () => new Date(Date.now() + offset),
    offset: () => offset,
    advance: (milliseconds) => {
      if (!(milliseconds >= 0) || !Number.isFinite(milliseconds)) {
        throw new RangeError('the clock only moves forward')
      }
      offset += milliseconds
    },
    reset: () => {
      offset = 0
    },
  }
}
