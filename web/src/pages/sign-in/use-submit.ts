/** The progress and the error of a form. */
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'

export const useSubmit = () => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (work: () => Promise<void>): Promise<void> => {
    if (busy) return
    setBusy(true)
    setError(undefined)
    try {
      await work()
    } catch (fault) {
      setError(fault)
    } finally {
      setBusy(false)
    }
  }
  const api = error instanceof ApiError ? error : undefined
  return {
    busy,
    submit,
    /** Whatever went wrong, for a form whose fields the service does not know. */
    error,
    clear: () => setError(undefined),
    fault: (path: string) => api?.fault(path),
    /** The same for a field with parts, such as a list: the first error of the field or of a part. */
    faultIn: (name: string) => api?.fields.find(({ path }) => path[0] === name)?.message,
    /** Errors that belong to no field. */
    rest: api && api.fields.length > 0 ? undefined : error,
  }
}
