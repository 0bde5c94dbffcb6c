/** Every failed request becomes one of these, whatever went wrong. */
import { ui } from '../strings/ui.ts'

export type FieldFault = { path: (string | number)[]; code: string; message: string }

type Values = Record<string, unknown>

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textIn = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value.trim() !== '')

const isFault = (value: unknown): value is FieldFault =>
  isObject(value) && Array.isArray(value.path) && typeof value.message === 'string'

const parsed = (text: string): Values => {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : {}
  } catch {
    // A proxy in front of the service answers with its own page.
    return {}
  }
}

export class ApiError extends Error {
  readonly status: number
  readonly code: string | undefined
  readonly fields: readonly FieldFault[]
  /** Quote it to the operator: the service logs each request under its id. */
  readonly requestId: string | undefined
  /** Everything that the body of the error carries. */
  readonly body: Values

  /** The dashboard's routes have a flat body, the API has an object in `error`. OAuth and SCIM have their own. */
  constructor(status: number, given: Values, requestId?: string) {
    const body = isObject(given.error) ? { ...given, ...given.error } : given
    const message = textIn(body.error_description, given.error, body.message, body.detail)
    super(message ?? ui.answered(status))
    this.status = status
    this.code = textIn(body.code)
    this.fields = Array.isArray(body.errors) ? body.errors.filter(isFault) : []
    this.requestId = requestId ?? textIn(body.request_id)
    this.body = body
  }

  /** The message for a field or for something inside it: `fault('email')`, `fault('limits.daily')`. */
  fault(path: string): string | undefined {
    return this.fields.find((field) => `${field.path.join('.')}.`.startsWith(`${path}.`))?.message
  }
}

/** The service could not be reached. Nothing was changed. */
export class OfflineError extends Error {
  constructor() {
    super(ui.offline)
  }
}

/** The service answered, and not with what it answers with. */
export class UnreadableError extends Error {
  constructor() {
    super(ui.unreadable)
  }
}

export const errorOf = async (response: Response): Promise<ApiError> =>
  new ApiError(response.status, parsed(await response.text()), response.headers.get('x-request-id') ?? undefined)

/** What a request fails with when its body cannot be read: the connection is lost, or a proxy has written it. */
export const readingFault = (fault: unknown): unknown => {
  if (fault instanceof SyntaxError) return new UnreadableError()
  return fault instanceof TypeError ? new OfflineError() : fault
}

/** What people read. A thrown value can be anything. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? textIn(error.message) : undefined) ?? ui.unknownError
