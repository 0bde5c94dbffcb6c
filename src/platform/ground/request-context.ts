/** What the service knows about the current request in every function below it, without passing it on. */
import { AsyncLocalStorage } from 'node:async_hooks'

export type RequestContext = {
  /** Log lines include it. */
  readonly id: string | undefined
  /**
   * The request has changed something that its caller can see, or may have. Until then, a retry does no harm. It is set
   * by the database layer and by the handover to a provider.
   */
  changed: boolean
}

const current = new AsyncLocalStorage<RequestContext>()

export const newRequestContext = (id: string | undefined): RequestContext => ({ id, changed: false })

export const inRequest = <T>(context: RequestContext, work: () => T): T => current.run(context, work)

export const currentRequest = (): RequestContext | undefined => current.getStore()
export const currentRequestId = (): string | undefined => current.getStore()?.id

/** Continues the request with this id if it is the current one. */
export const withRequestId = <T>(id: string, work: () => T): T =>
  current.getStore()?.id === id ? work() : current.run(newRequestContext(id), work)

export const markChanged = (): void => {
  const context = current.getStore()
  if (context) context.changed = true
}

/** For changes that are no effect of the request, such as a tenant that is created because it was named first. */
export const withoutEffect = <T>(work: () => T): T => current.run(newRequestContext(currentRequestId()), work)
