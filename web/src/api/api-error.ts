/** Every failed request becomes one of these, whatever went wrong. */
export type FieldFault = { path: (string | number)[]; code: string; message: string }

type FlatError = { error?: string; code?: string; errors?: FieldFault[] }

export class ApiError extends Error {
  readonly status: number
  readonly code: string | undefined
  readonly fields: readonly FieldFault[]
  /** Quote it to the operator: the service logs each request under its id. */
  readonly requestId: string | undefined
  /** Everything that the body of the error carries. */
  readonly body: Record<string, unknown>

  constructor(status: number, body: FlatError, requestId: string | undefined) {
    super(body.error ?? `The service answered ${status}.`)
    this.status = status
    this.code = body.code
    this.fields = body.errors ?? []
    this.requestId = requestId
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
    super('The service cannot be reached. Nothing was changed; try again.')
  }
}

export const errorOf = async (response: Response): Promise<ApiError> => {
  const text = await response.text()
  let body: FlatError = {}
  try {
    body = JSON.parse(text) as FlatError
  } catch {
    // A proxy in front of the service answers with its own page.
  }
  return new ApiError(response.status, body, response.headers.get('x-request-id') ?? undefined)
}
