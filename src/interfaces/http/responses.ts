/** Responses that many routes have alike. */
import { z } from 'zod'
import { encodeCursor } from '../../platform/ground/cursor.ts'
import type { SearchPage } from '../../platform/ground/search-page.ts'
import { type Listed, page } from './page.ts'
import type { RouteResponse } from './route.ts'

export const ok = (body: unknown): RouteResponse => ({ status: 200, body })

export const created = (body: unknown): RouteResponse => ({ status: 201, body })

/** Expects up to `limit + 1` rows, like `page`. */
export const listed = <Row extends Listed>(rows: Row[], limit: number, show: (row: Row) => unknown): RouteResponse =>
  ok(page(rows, limit, show))

/** A page of rows that a search found. */
export const listedFound = <Row>({ rows, next }: SearchPage<Row>, show: (row: Row) => unknown): RouteResponse =>
  ok({ data: rows.map(show), has_more: next !== null, next_cursor: next && encodeCursor(next) })

/** The response of every delete. */
export const Deleted = z
  .strictObject({
    id: z.string().describe('The id of the deleted resource.'),
    deleted: z.literal(true).describe('Always `true`.'),
  })
  .meta({ id: 'Deleted', examples: [{ id: 'dom_01k5w3v8q6e9rbx2t7m4n0c1yz', deleted: true }] })

export const deleted = (id: string): RouteResponse => ok({ id, deleted: true })
