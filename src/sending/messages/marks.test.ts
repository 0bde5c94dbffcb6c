import { afterAll, expect, test } from 'vitest'
import { postOf } from '../../../test/clients/post-client.ts'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { migrateTo } from '../../../test/service/migrate-to.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { recipientMark, tagMark } from './marks.ts'

const t = await startTestService()
afterAll(() => t.stop())
const created = await t.org()
const post = postOf(t, created)

test('a search does not return a message whose mark is the same but whose tag or recipient differs', async () => {
  const wanted = await post.sent({ to: ['ann@reader.test'], tags: ['wanted'] })
  const sameMark = await post.sent({ to: ['bob@reader.test'], tags: ['other'] })
  await t.database.sql('update messages set marks = (select marks from messages where id = $1) where id = $2', [
    wanted,
    sameMark,
  ])
  for (const query of ['?tag=wanted', '?to=ANN@reader.test', '?tag=wanted&to=ann@reader.test']) {
    expect((await post.list(query)).body.data).toMatchObject([{ id: wanted }])
  }
  expect((await post.list('?tag=other')).body.data).toEqual([])
})

test('the migration computes the marks of existing messages', async () => {
  const database = await makeTestDatabase('empty')
  try {
    await migrateTo(database, '0006_webhooks')
    const [orgId, id] = [newId('org'), newId('message')]
    const [tags, to] = [
      ['a tag', 'größe', '標'],
      ['Ann@Reader.test', 'x@y.test'],
    ]
    await database.sql(
      `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address,
         to_addresses, tags)
       values ($1, $2, $3, 'live', 'prj', 'email', 'sent', 'a@b.test', $4, $5)`,
      [orgId, id, new Date(timeOfId(id)), to, tags],
    )
    await migrateTo(database)
    const [row] = await database.sql<{ marks: number[] }>('select marks from messages where id = $1', [id])
    expect(row?.marks).toEqual([
      ...tags.map((tag) => tagMark(orgId, tag)),
      ...to.map((address) => recipientMark(orgId, address)),
    ])
    expect(row?.marks.map((mark) => mark < 0)).toEqual([false, false, false, true, true])
  } finally {
    await database.drop()
  }
})
