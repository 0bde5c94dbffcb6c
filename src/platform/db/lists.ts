/** Rows as one list for each column, which a statement reads with `unnest`. */
export type Lists<Row> = { [Name in keyof Row]: Row[Name][] }

export const listsOf = <Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Lists<Pick<Row, Name>> =>
  Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])) as Lists<Pick<Row, Name>>
