import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { parseJson, validate } from '../read-request.ts'

/** The JSON body of a request to the development tools. */
export const bodyOf = async <T>(schema: z.ZodType<T>, request: FastifyRequest): Promise<T> => {
  const bytes = request.body as Buffer | undefined
  return validate(schema, bytes && bytes.length > 0 ? await parseJson(bytes) : undefined)
}
