/** Paths that show one item with `?id=`, and a list without it. */
import { z } from 'zod'
import { givenId } from '../../ground/bounded-text.ts'
import { listOf, listQuery } from './list-query.ts'

export const idQuery = z.object({ id: givenId })

export const oneOrListQuery = listQuery().extend({ id: givenId.optional() })

export const oneOrListOf = <T extends z.ZodType>(item: T) => z.union([item, listOf(item)])
