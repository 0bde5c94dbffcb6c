/**
 * The columns of a stored entity, written once. The type of a row, its select list and the parameters of the statements
 * that write it follow from this one table.
 */

declare const valueType: unique symbol

/** A column whose values have this type. It carries the type only. */
export type Column<T> = { readonly [valueType]?: T; readonly orNull: Column<T | null> }

const column = <T>(): Column<T> => ({
  get orNull() {
    return column<T | null>()
  },
})

export const text = column<string>()
export const texts = column<string[]>()
export const bytes = column<Buffer>()
export const flag = column<boolean>()
export const number = column<number>()
export const time = column<Date>()
export const json = <T>(): Column<T> => column()
/** A text that is one of a few, such as a status: `oneOf<Status>()`. */
export const oneOf = <T extends string>(): Column<T> => column()

type Table = { readonly [name: string]: Column<unknown> }

/** The row that a select list of these columns returns. */
export type RowOf<C extends { table: Table }> = {
  [Name in keyof C['table']]: C['table'][Name] extends Column<infer T> ? T : never
}

/** As a text it is the select list: `select ${noteColumns} from notes`. */
export type Columns<T extends Table> = {
  table: T
  names: readonly (keyof T & string)[]
  toString(): string
  /** The select list on the table or CTE with this alias. */
  of(alias: string): string
}

export const columns = <T extends Table>(table: T): Columns<T> => {
  const names = Object.keys(table)
  return {
    table,
    names,
    toString: () => names.join(', '),
    of: (alias) => names.map((name) => `${alias}.${name}`).join(', '),
  }
}

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name

/** The parameters of a statement that are columns of a row: `tenantId` for `tenant_id`. */
export type Given<Row, Name extends keyof Row & string> = { [Column in Name as Camel<Column>]: Row[Column] }
