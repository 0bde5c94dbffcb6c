/** Checks that a member reaches no row of another org through a route that takes an id. */
import { expect } from 'vitest'
import { trailOf } from '../audit/trail.ts'
import type { Member } from '../clients/team-client.ts'
import type { TestService } from '../service/service.ts'

export type Attempt = readonly [method: string, path: string, body?: unknown]

type Foreign = {
  /** The table of the row. */
  table: string
  orgId: string
  id: string
  /** An id of the same kind that nothing has. */
  unknownId: string
}

/** Tries each request with the id of another org's row, with an unknown id and with text that is no id. */
export const expectOutOfReach = async (
  t: TestService,
  member: Member,
  foreign: Foreign,
  attemptsOn: (id: string) => readonly Attempt[],
): Promise<void> => {
  const read = async () => ({
    rows: await t.database.sql(`select * from ${foreign.table} where org_id = $1 order by id`, [foreign.orgId]),
    trail: await trailOf(t.database, foreign.orgId),
  })
  const before = await read()
  expect(before.rows.length).toBeGreaterThan(0)
  for (const id of [foreign.id, foreign.unknownId, 'nonsense']) {
    for (const [method, path, body] of attemptsOn(id)) {
      const reply = await member.ask(method, path, body)
      expect([reply.status, reply.body], `${method} ${path}`).toEqual([404, { error: 'Not found' }])
    }
  }
  expect(await read()).toEqual(before)
}
