/**
 * In-memory copies of rows, which every process drops for an org when a row of that org changes. The copies are used
 * only while the connection that reports changes is up.
 */
import type { Log } from '../ground/log.ts'
import { listen } from './listen.ts'
import type { Db } from './pool.ts'

type OrgCache = { forgetOrg(orgId: string): void; forgetAll(): void }

export const openOrgCaches = async ({ db, log }: { db: Pick<Db, 'connect'>; log: Log }) => {
  const caches: OrgCache[] = []
  const forget = (orgId: string): void => {
    for (const cache of caches) cache.forgetOrg(orgId)
  }
  const changes = await listen({
    connect: db.connect,
    log,
    channel: 'callers_changed',
    onMessage: forget,
    onGap: () => {
      for (const cache of caches) cache.forgetAll()
    },
  })
  return {
    /** False while changes may be missed. */
    trusted: changes.healthy,
    /** Adds a cache to those that are cleared, and returns it. */
    add: <C extends OrgCache>(cache: C): C => {
      caches.push(cache)
      return cache
    },
    /** Drops the org's copies in this process at once. A trigger notifies the other processes. */
    forget,
    close: changes.close,
  }
}
