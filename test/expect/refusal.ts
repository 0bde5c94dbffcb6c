/** What a refusal must look like, and that it left nothing behind. */
import { expect } from 'vitest'
import { type Code, catalogue, statusOf, typeOf } from '../../src/ground/errors.ts'
import { changed, makeDigest } from '../hostile/judge.ts'
import type { TestDatabase } from '../service/database.ts'
import type { Reply } from '../service/service.ts'

type More = { message?: string; errors?: unknown }

/** The whole answer is that refusal: status, every member of the body, and the request id in both places. */
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

/** Runs what must be refused, then holds every table against what it was before. */
export const watchTables = async (database: TestDatabase): Promise<LeavesNoTrace> => {
  const digest = await makeDigest(database)
  return async (work) => {
    const before = await digest()
    const result = await work()
    expect(changed(before, await digest()), 'tables that changed').toEqual([])
    return result
  }
}
