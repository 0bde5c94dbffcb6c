/** The service that the files of a worker share, once one of them has asked for it. */
import type { TestService } from './service.ts'

let shared: Promise<TestService> | undefined

export const sharedOr = (start: () => Promise<TestService>): Promise<TestService> => {
  shared ??= start()
  return shared
}

/** The next file that asks for the shared service gets a new one. */
export const forgetShared = (): void => {
  shared = undefined
}
