/** What the API and the dashboard say alike about the things that they list, show, change and delete. */
import type { z } from 'zod'
import type { IdKind } from '../../platform/ground/ids.ts'

export type ShownResource<Row, Item extends z.ZodType> = {
  /** The kind of its ids. */
  kind: IdKind
  /** Its names in sentences of the API description, as in "The new brand." and "A page of brands". */
  one: string
  many: string
  item: Item
  show: (row: Row) => z.output<Item>
}

export const resource = <Row, Item extends z.ZodType>(described: ShownResource<Row, Item>): ShownResource<Row, Item> =>
  described

/** The fields of an item as a row has them, with instants as dates. */
type Stored<Item> = { [Name in keyof Item]: Item[Name] | (string extends Item[Name] ? Date : never) }

/** Shows the fields of the item as the row has them, and nothing else of the row. Dates are shown in ISO 8601. */
export const shownAs = <Shape extends z.ZodRawShape>(item: z.ZodObject<Shape>) => {
  type Item = z.output<typeof item>
  const names = Object.keys(item.shape) as (keyof Item)[]
  const shownField = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value)
  return (row: Stored<Item>): Item =>
    Object.fromEntries(names.map((name) => [name, shownField(row[name])])) as unknown as Item
}
