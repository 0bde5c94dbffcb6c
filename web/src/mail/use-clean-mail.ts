import { useEffect, useState } from 'react'
import type { AttachedPictures, CleanMail, MailSource } from './clean-mail.ts'

/** A mail that takes longer cannot be shown. Its text and its source can. */
const limitMs = 10_000

const clean = (source: MailSource, signal: AbortSignal): Promise<CleanMail> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./mail-worker.ts', import.meta.url), { type: 'module' })
    const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
    const end = (): void => worker.terminate()
    limit.addEventListener('abort', () => {
      end()
      reject(limit.reason)
    })
    worker.addEventListener('error', (event) => {
      end()
      reject(event.error ?? new Error(event.message))
    })
    worker.addEventListener('message', ({ data }: MessageEvent<CleanMail>) => {
      end()
      resolve(data)
    })
    worker.postMessage(source)
  })

/** Loads those of the wanted pictures that the mail has as attachments. */
export type LoadPictures = (wanted: readonly string[], signal: AbortSignal) => Promise<AttachedPictures>

/** Undefined until they are there. The mail is shown without them meanwhile. */
const usePictures = (wanted: readonly string[] = [], load: LoadPictures | undefined): AttachedPictures | undefined => {
  const [pictures, setPictures] = useState<AttachedPictures>()
  // Every cleaning makes a list of its own.
  const ids = JSON.stringify(wanted)
  useEffect(() => {
    if (!load || ids === '[]') return
    const controller = new AbortController()
    const { signal } = controller
    load(JSON.parse(ids), signal).then((found) => {
      if (!signal.aborted && found.size > 0) setPictures(found)
    })
    return () => controller.abort()
  }, [ids, load])
  return pictures
}

export type Cleaning = { mail?: CleanMail; failed?: boolean }

/** The last mail stays until the next one is there. Cleaning runs in a worker, so that no mail can stop the page. */
export const useCleanMail = (html: string, remote: boolean, load?: LoadPictures): Cleaning => {
  const [state, setState] = useState<Cleaning>({})
  const pictures = usePictures(state.mail?.wanted, load)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    clean({ html, remote, ownHost: location.hostname, pictures }, signal).then(
      (mail) => setState({ mail }),
      () => signal.aborted || setState({ failed: true }),
    )
    return () => controller.abort()
  }, [html, remote, pictures])
  return state
}
