import { Failure } from './errors.ts'

/** What was looked for. Fails with NOT_FOUND if there is nothing. */
export const orNotFound = async <T>(looking: Promise<T | undefined>): Promise<T> => {
  const found = await looking
  if (found === undefined) throw new Failure('NOT_FOUND')
  return found
}
