/** Checks error responses, and that a refused request changed nothing. */
import { expect } from 'vitest'
import { type Code, catalogue, statusOf, typeOf } from '../../src/platform/ground/errors.ts'
import { changedTables, makeDigest } from '../hostile/responses.ts'
import type { TestDatabase } from '../service/database.ts'
import type { Reply } from '../service/service.ts'

type More = { message?: string; errors?: unknown }

/** Checks the whole response: status, every member of the body, and the request id in header and body. */
export const expectRefusal = (reply: Reply, code: Code, more: More = {}, about?: string): void => {
  expect([reply.status, reply.body], about).toEqual([
    statusOf(code),
    {
      error: {
        type: typeOf(code),
        message: catalogue[code].text,
        code,
        request_id: reply.headers['x-request-id'],
        ...more,
      },
    },
  ])
}

export type LeavesNoTrace = <T>(work: () => Promise<T>) => Promise<T>

/** Runs `work`, which must be refused, and checks that no table changed. */
export const watchTables = async (database: TestDatabase): Promise<LeavesNoTrace> => {
  const digest = await makeDigest(database)
  return async (work) => {
    const before = await digest()
    const result = await work()
    expect(changedTables(before, await digest()), 'changed tables').toEqual([])
    return result
  }
}
