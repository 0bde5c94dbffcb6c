/** Turns the caller of a request into the sender of its messages. */
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { SentBy } from './draft.ts'

/** The caller: an API key with its restrictions, or the service on behalf of a person. */
export type DraftCaller = Scope & { keyId: string | null; allowedDomainIds: readonly string[] | null }

export const makeSentBy =
  (defaultProject: (orgId: string) => MaybePromise<string>) =>
  (caller: DraftCaller): MaybePromise<SentBy> =>
    andThen(caller.projectId ?? defaultProject(caller.orgId), (projectId) => ({
      orgId: caller.orgId,
      tenantId: caller.tenantId,
      environment: caller.environment,
      projectId,
      keyId: caller.keyId,
      allowedDomainIds: caller.allowedDomainIds,
      boundProjectId: caller.projectId,
    }))
