/** Sends requests. The shell learns whether the service can be reached, and the times on pages what time it has. */
import { errorOf, OfflineError, readingFault } from './api-error.ts'
import { setReachable } from './connection.ts'
import { learnTime } from './service-time.ts'

export const send = async (request: Request): Promise<Response> => {
  try {
    const response = await fetch(request)
    setReachable(true)
    learnTime(response)
    return response
  } catch (error) {
    if (request.signal.aborted) throw error
    setReachable(false)
    throw new OfflineError()
  }
}

/** For what is no route of the dashboard, such as the development tools. */
export const askJson = async <T>(path: string, init?: RequestInit): Promise<T> => {
  const response = await send(new Request(new URL(path, location.origin), init))
  if (!response.ok) throw await errorOf(response)
  return response.json().catch((fault: unknown) => {
    throw readingFault(fault)
  })
}
