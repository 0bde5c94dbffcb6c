/** Paths that show one item with `?id=`, and a list without it. */
import { z } from 'zod'
import { givenId } from '../../ground/bounded-text.ts'
import { Failure } from '../../ground/errors.ts'
import { type Listed, page } from '../page.ts'
import type { DashboardResponse } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'

export const idQuery = z.object({ id: givenId })

export const oneOrListQuery = listQuery().extend({ id: givenId.optional() })

export const oneOrListOf = <T extends z.ZodType>(item: T) => z.union([item, listOf(item)])

type Reads<Row extends Listed> = {
  find: (id: string) => Promise<Row | undefined>
  list: () => Promise<Row[]>
  show: (row: Row) => unknown
}

export const showOneOrPage = async <Row extends Listed>(
  { id, limit }: { id?: string | undefined; limit: number },
  { find, list, show }: Reads<Row>,
): Promise<DashboardResponse> => {
  if (id === undefined) return { status: 200, body: page(await list(), limit, show) }
  const row = await find(id)
  if (!row) throw new Failure('NOT_FOUND')
  return { status: 200, body: show(row) }
}
