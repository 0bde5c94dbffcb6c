/** The client of the dashboard's routes. Its types come from the routes themselves: `npm run docs` updates them. */
import createClient from 'openapi-fetch'
import { errorOf, readingFault } from './api-error.ts'
import { signInPrompt, stepUpPrompt } from './prompt.ts'
import type { paths } from './schema.gen.ts'
import { send } from './send.ts'

const codeOf = async (response: Response): Promise<unknown> => {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return (body as { code?: unknown } | undefined)?.code
}

/** What the person is asked before the request is repeated. */
const promptFor = async (request: Request, response: Response): Promise<(() => Promise<boolean>) | undefined> => {
  if (!new URL(request.url).pathname.startsWith('/api/internal')) return undefined
  if (response.status === 401) return signInPrompt.ask
  return response.status === 403 && (await codeOf(response)) === 'STEP_UP_REQUIRED' ? stepUpPrompt.ask : undefined
}

/** A session that ended, or that is not enough, asks in place. The request is then repeated. */
const sendSignedIn = async (request: Request): Promise<Response> => {
  const again = request.clone()
  const response = await send(request)
  const ask = await promptFor(request, response)
  return (await ask?.()) ? send(again) : response
}

/** No link and no picture can send this header. The service asks for it where a `GET` is recorded or starts work. */
const headers = { 'X-Requested-With': 'dashboard' }

export const api = createClient<paths>({ baseUrl: location.origin, headers, fetch: sendSignedIn })

type Answer<T> = { data?: T; error?: unknown; response: Response }

/** The body of a successful response. Anything else is thrown as an ApiError. */
export const unwrap = async <T>(answer: Promise<Answer<T>>): Promise<T> => {
  const { data, error, response } = await answer.catch((fault: unknown) => {
    throw readingFault(fault)
  })
  if (response.ok) return data as T
  const text = typeof error === 'string' ? error : JSON.stringify(error ?? {})
  throw await errorOf(new Response(text, { status: response.status, headers: response.headers }))
}
