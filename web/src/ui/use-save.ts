/** A change through the API: its progress, its error, and what follows it. Every form, dialog and button saves with it. */
import { type Query, type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/api-error.ts'
import { toast } from './toasts.tsx'

export type Afterwards<Result> = {
  /** The toast that says what was done. */
  message?: string | ((result: Result) => string) | undefined
  /** What follows on the page: a form is emptied, or what was made is opened. */
  done?: ((result: Result) => unknown) | undefined
  /** The keys of queries that show what was changed. They are read again. */
  refreshes?: readonly QueryKey[] | undefined
  /** The id of a row that was deleted: it cannot be read any more. */
  deleted?: string | undefined
  /** What follows after that: a dialog closes. */
  closes?: (() => void) | undefined
  /** Where no form shows the error. */
  failed?: (error: unknown) => void
}

/** The key of every query. */
export const everything: QueryKey = []

export const useSave = <Given = void, Result = unknown>(
  work: (given: Given) => Promise<Result>,
  { message, done, refreshes = [], deleted, closes, failed }: Afterwards<Result> = {},
) => {
  const client = useQueryClient()
  const follow = async (result: Result): Promise<void> => {
    if (message) toast(typeof message === 'string' ? message : message(result))
    await done?.(result)
    const readable = (query: Query) => deleted === undefined || query.queryKey.at(-1) !== deleted
    await Promise.all(refreshes.map((queryKey) => client.invalidateQueries({ queryKey, predicate: readable })))
    closes?.()
  }
  // What follows is that of the time of the click: a page that somebody has moved on to must stay as it is.
  const { mutate, isPending, error, reset } = useMutation<Result, unknown, { given: Given; next: typeof follow }>({
    mutationFn: ({ given }) => work(given),
    onSuccess: (result, { next }) => next(result),
    ...(failed && { onError: (fault) => failed(fault) }),
  })
  const refusal = error instanceof ApiError ? error : undefined
  return {
    busy: isPending,
    save: (given: Given): void => {
      if (!isPending) mutate({ given, next: follow })
    },
    /** Whatever went wrong, for a form whose fields the service does not know. */
    error,
    clear: reset,
    fault: (path: string) => refusal?.fault(path),
    /** The same for a field with parts, such as a list: the first error of the field or of a part. */
    faultIn: (name: string) => refusal?.fields.find(({ path }) => path[0] === name)?.message,
    /** Errors that belong to no field. */
    rest: refusal && refusal.fields.length > 0 ? undefined : error,
  }
}

/** For a form with several buttons, which share its progress and its error. */
export const useWork = (afterwards?: Afterwards<unknown>) =>
  useSave((work: () => Promise<unknown>) => work(), afterwards)

/** The progress and the error of a form, for its fields and its buttons. */
export type FormState = Omit<ReturnType<typeof useSave>, 'save'>
