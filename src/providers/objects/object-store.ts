/** Stores objects by name. Names are relative to the place that the store was opened at. */
export interface ObjectStore {
  /** Stores a new object. Returns false if there is an object of this name, which is never replaced. */
  put(name: string, content: Buffer): Promise<boolean>
  /** Returns undefined if there is no such object. Throws `ObjectTooLarge` without reading all of a larger one. */
  get(name: string, maxBytes: number): Promise<Buffer | undefined>
  /** The names that start with the prefix, in the order of their bytes. Reads them page by page. */
  list(prefix?: string): AsyncIterable<string>
  close(): void
}

export class ObjectTooLarge extends Error {}

/** The store could not be reached or did not do what it was asked. */
export class ObjectStoreFault extends Error {}
