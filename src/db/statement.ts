/**
 * A named, typed statement, declared beside its use in a slice's store.ts. The name becomes the prepared
 * statement on every connection, and a test prepares all of them against the migrated schema.
 */
export type Statement<P extends readonly unknown[], R> = {
  readonly name: string
  readonly text: string
  /** Only carries the types; never set. */
  readonly types?: { params: P; row: R }
}

const declared = new Map<string, Statement<readonly unknown[], unknown>>()

export const statement = <P extends readonly unknown[], R = never>(name: string, text: string): Statement<P, R> => {
  const known = declared.get(name)
  if (known && known.text !== text) throw new Error(`two statements are named ${name}`)
  // PostgreSQL cuts names at 63 bytes, and two cut names would collide.
  if (Buffer.byteLength(name) > 63) throw new Error(`the statement name ${name} is longer than 63 bytes`)
  const made: Statement<P, R> = { name, text }
  declared.set(name, made)
  return made
}

export const declaredStatements = (): Statement<readonly unknown[], unknown>[] => [...declared.values()]
