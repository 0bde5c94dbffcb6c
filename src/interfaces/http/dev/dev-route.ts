/** A tool of development. To anyone who is not on this machine, it does not exist. */
import { z } from 'zod'
import { byMachine, defineRoute, type Route } from '../route.ts'

export const devPost = <S extends z.ZodType>(
  path: string,
  body: S,
  work: (given: z.output<S>) => Promise<unknown>,
): Route =>
  defineRoute('POST', `/api/dev${path}`, byMachine, {
    hidden: true,
    body,
    responses: { 200: z.unknown() },
    handle: async (call) => ({ status: 200, body: await work(call.body as z.output<S>) }),
  })
