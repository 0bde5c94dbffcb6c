import { useEffect, useState } from 'react'
import type { CleanMail, MailSource } from './clean-mail.ts'

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

export type Cleaning = { mail?: CleanMail; failed?: boolean }

/** The last mail stays until the next one is there. Cleaning runs in a worker, so that no mail can stop the page. */
export const useCleanMail = (html: string, remote: boolean): Cleaning => {
  const [state, setState] = useState<Cleaning>({})
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    clean({ html, remote, ownHost: location.hostname }, signal).then(
      (mail) => setState({ mail }),
      () => signal.aborted || setState({ failed: true }),
    )
    return () => controller.abort()
  }, [html, remote])
  return state
}
