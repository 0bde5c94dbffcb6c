import type { Readable } from 'node:stream'
import { expecting } from '../expected-errors.ts'

/** The first and the last byte of a part of an object, from 0. */
export type ByteRange = { from: number; to: number }

/** Stores objects by name. Names are relative to the place that the store was opened at. */
export interface ObjectStore {
  /** Stores a new object. Returns false if there is an object of this name, which is never replaced. */
  put(name: string, content: Buffer): Promise<boolean>
  /**
   * Stores a new object as its content arrives, in bounded memory. There is no object of this name before all of it is
   * stored. Returns false if there is one already, which is never replaced. A fault of the content is thrown unchanged.
   */
  write(name: string, content: AsyncIterable<Buffer>): Promise<boolean>
  /** Returns undefined if there is no such object. Throws `TooLargeFault` without reading all of a larger one. */
  get(name: string, maxBytes: number): Promise<Buffer | undefined>
  /** The content of an object, or a part of it, as fast as it is read. Undefined if there is no such object. */
  read(name: string, range?: ByteRange): Promise<Readable | undefined>
  /** The size in bytes. Undefined if there is no such object. */
  sizeOf(name: string): Promise<number | undefined>
  /** The names that start with the prefix, in the order of their bytes. Reads them page by page. */
  list(prefix?: string): AsyncIterable<string>
  /** Does nothing if there is no such object. */
  remove(name: string): Promise<void>
  /** Removes what writes that began before this time have left unfinished. Returns how many. */
  removeUnfinished(before: Date): Promise<number>
  close(): void
}

export class TooLargeFault extends Error {}

/** The store could not be reached or did not do what it was asked. */
export class ObjectStoreFault extends Error {
  readonly #full: boolean
  constructor(message: string, full = false) {
    super(message)
    this.#full = full
  }
  /** Whether the store has no space left. */
  get full(): boolean {
    return this.#full
  }
}

/** Runs the work of a store: its errors become faults of the store. */
export const makeFaultless = (faultOf: (error: unknown) => Error, isAbsent: (error: unknown) => boolean) => {
  const faultless = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw faultOf(error)
    }
  }
  return {
    faultless,
    /** Undefined if there is no such object. */
    orAbsent: <T>(work: () => Promise<T>) => faultless(() => expecting(isAbsent, Promise.try(work))),
  }
}
