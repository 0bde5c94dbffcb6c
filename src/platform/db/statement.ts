/**
 * A named SQL statement with typed parameters and rows, declared in the store of a module. Its SQL refers to parameters
 * by name (`:orgId`). The name of the statement becomes the name of the prepared statement on every connection, and a
 * test prepares all statements against the migrated schema.
 */
export type Statement<P extends object, R> = {
  readonly name: string
  /** The SQL that PostgreSQL receives, with `$1` for the first of `params`, and so on. */
  readonly text: string
  readonly params: readonly string[]
  /** Whether it may change something that a caller can see. */
  changes: boolean
  /** Only carries the types; never set. */
  readonly types?: { params: P; row: R }
}

/** The parameters of a statement that takes none. */
export type NoParams = Record<never, never>

/** What a call passes after the statement: an object with every parameter, or nothing when there are none. */
export type ParamsOf<P extends object> = keyof P extends never ? [] : [params: P]

const declared = new Map<string, Statement<object, unknown>>()

// Quoted text, comments and casts (`::text`) come first, so that a colon inside one of them starts no parameter.
const sqlParts = /'(?:[^']|'')*'|--[^\n]*|::|:([a-zA-Z]\w*)/g

const compile = (sql: string): Pick<Statement<object, unknown>, 'text' | 'params'> => {
  const params: string[] = []
  const text = sql.replace(sqlParts, (part, name?: string) => {
    if (name === undefined) return part
    if (!params.includes(name)) params.push(name)
    return `$${params.indexOf(name) + 1}`
  })
  return { text, params }
}

const ignoredParts = /'(?:[^']|'')*'|--[^\n]*|\bfor\s+(?:no\s+key\s+)?update\b/gi

const changingWords = 'insert|update|delete|merge|truncate|call|copy|create|alter|drop|nextval|setval'
/** Our own functions that change something. A test compares the list with the database. */
const changingFunctions =
  'reserve_usage|reserve_sends|lease_usage|settle_recorded|close_reservations|announce_usage|ensure_month|add_figures'
const changing = new RegExp(`\\b(?:${changingWords}|${changingFunctions})\\b`, 'i')

/**
 * Declares that what these statements change is no effect of a request: claims, reservations and counters that are
 * settled or expire by themselves. A request that fails after one of them can be retried.
 */
export const unseen = (...statements: { changes: boolean }[]): void => {
  for (const one of statements) one.changes = false
}

export const statement = <P extends object = NoParams, R = never>(name: string, sql: string): Statement<P, R> => {
  const { text, params } = compile(sql)
  const known = declared.get(name)
  if (known && known.text !== text) throw new Error(`two statements are named ${name}`)
  // PostgreSQL cuts names at 63 bytes, and two cut names would collide.
  if (Buffer.byteLength(name) > 63) throw new Error(`the statement name ${name} is longer than 63 bytes`)
  const changes = changing.test(text.replace(ignoredParts, ''))
  const made: Statement<P, R> = { name, text, params, changes }
  declared.set(name, made)
  return made
}

/** The query that `pg` runs: the prepared statement and its values in the order of the placeholders. */
export const queryOf = <P extends object>({ name, text, params }: Statement<P, unknown>, values?: P) => ({
  name,
  text,
  values: params.map((param) => values?.[param as keyof P]),
})

export const declaredStatements = (): Statement<object, unknown>[] => [...declared.values()]
