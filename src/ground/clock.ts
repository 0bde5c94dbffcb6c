/** The one source of "now". SQL never asks the database for the time: callers pass an instant in. */
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
  /** Moves the clock forward; time never runs backwards for rows already written. */
  advance(milliseconds: number): void
  /** How far ahead of the system clock this one runs. */
  offset(): number
}

/** The clock of the dev tools and the tests. It keeps ticking; `advance` only adds to it. */
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
  }
}
