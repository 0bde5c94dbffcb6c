/** Pages of a list, versions of a resource, and the lock for its changes. */
import type { Db, Tx } from '../../platform/db/pool.ts'
import { lockTeam } from '../team/store/team-rows.ts'
import { notInDirectory, ScimFault } from './scim-fault.ts'

/** `startIndex` counts from 1. */
export type ScimPage = { startIndex: number; count: number }

export const etagOf = (version: string): string => `W/"${version}"`

/** Whether a header with one or more versions, or `*`, names this one. Weak and strong forms are alike here. */
export const namesVersion = (header: string, version: string): boolean =>
  header.split(',').some((one) => {
    const given = one.trim()
    return given === '*' || given.replace(/^W\//i, '').replace(/^"|"$/g, '') === version
  })

/** A change on condition that nothing has changed since the caller read the resource. */
export const assertMatch = (ifMatch: string | undefined, version: string): void => {
  if (ifMatch === undefined || namesVersion(ifMatch, version)) return
  throw new ScimFault(412, 'The resource has changed. Read it again and repeat the change.')
}

/** All changes of an org's members run one after the other. */
export const inTeam = <T>(db: Db, orgId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.tx(async (tx) => {
    if (!(await tx.row(lockTeam, { orgId }))) throw notInDirectory()
    return work(tx)
  })
