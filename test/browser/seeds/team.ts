import type { Seed } from '../every-page.ts'

/** A second org, so that the switcher has something to switch to. */
const seedTeam: Seed = async ({ t, people }) => {
  const { org } = await t.org({ name: 'Second Office' })
  await t.database.sql(
    `insert into memberships (org_id, id, user_id, role, created_at) values ($1, 'mem_second', $2, 'viewer', $3)`,
    [org.id, people.owner.userId, t.service.clock.now()],
  )
  return undefined
}

export default seedTeam
