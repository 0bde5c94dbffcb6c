/**
 * Limits the bytes of request bodies that are still arriving, for each caller and for the process. Without a limit, a
 * few slow clients could fill the memory with bodies that they never complete.
 */
import { Failure } from '../../platform/ground/errors.ts'

type UploadLimits = { perCaller: number; total: number }

type Held = { caller: string; bytes: number; refuse: (failure: Failure) => void }

/** Uploads in progress usually end within seconds. */
const retryAfter = 5

const tooManyOfCaller = (): Failure =>
  new Failure('RATE_LIMITED', {
    message: 'Too many of your request bodies are arriving at once. Retry with fewer requests in parallel.',
    retryAfter,
  })

const tooMany = (): Failure =>
  new Failure('UNAVAILABLE', {
    message: 'Too many request bodies are arriving at once. Retry after the number of seconds in Retry-After.',
    retryAfter,
  })

export const makeUploads = ({ perCaller, total }: UploadLimits) => {
  const uploadsOf = new Map<string, Set<Held>>()
  const bytesOf = new Map<string, number>()
  let sum = 0

  const count = (upload: Held, bytes: number): void => {
    upload.bytes += bytes
    sum += bytes
    bytesOf.set(upload.caller, (bytesOf.get(upload.caller) ?? 0) + bytes)
  }

  const remove = (upload: Held): boolean => {
    const own = uploadsOf.get(upload.caller)
    if (!own?.delete(upload)) return false
    count(upload, -upload.bytes)
    if (own.size > 0) return true
    uploadsOf.delete(upload.caller)
    bytesOf.delete(upload.caller)
    return true
  }

  /** The largest upload of the caller that holds the most, so that many slow uploads do not refuse everyone else's. */
  const largest = (): Held | undefined => {
    const [caller] = [...bytesOf].reduce((most, one) => (one[1] > most[1] ? one : most), ['', -1])
    return [...(uploadsOf.get(caller) ?? [])].reduce<Held | undefined>(
      (most, one) => (most && most.bytes >= one.bytes ? most : one),
      undefined,
    )
  }

  const refuse = (upload: Held, failure: Failure): void => {
    if (remove(upload)) upload.refuse(failure)
  }

  return {
    /** `onRefuse` is called at most once, and ends the upload. */
    start: (caller: string, onRefuse: (failure: Failure) => void) => {
      const upload: Held = { caller, bytes: 0, refuse: onRefuse }
      const own = uploadsOf.get(caller) ?? new Set()
      uploadsOf.set(caller, own.add(upload))
      return {
        /** Counts received bytes. May refuse this upload, or one of the caller that holds the most. */
        add: (bytes: number): void => {
          if (!uploadsOf.get(caller)?.has(upload)) return
          count(upload, bytes)
          if ((bytesOf.get(caller) ?? 0) > perCaller) refuse(upload, tooManyOfCaller())
          while (sum > total) {
            const first = largest()
            if (!first) return
            refuse(first, tooMany())
          }
        },
        /** Call it when the body is complete or abandoned. */
        end: (): void => void remove(upload),
      }
    },
    /** The bytes that are held at the moment. */
    held: (): number => sum,
  }
}

export type Uploads = ReturnType<typeof makeUploads>
export type Upload = ReturnType<Uploads['start']>
