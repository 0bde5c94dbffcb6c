import { expect, test } from 'vitest'
import { sharedTestService } from '../../../test/service/service.ts'
import { welcome } from './welcome.ts'

const t = await sharedTestService()

test('the printed example request sends an email, with and without a domain', async () => {
  const created = await t.org()
  for (const [domain, environment] of [
    [created.domain, 'live'],
    [null, 'test'],
  ] as const) {
    const text = welcome({ ...created, domain }, 'http://localhost/welcome?token=x')
    const [, url, key, body] = /curl (\S+) \\\n.*Bearer (\S+)' \\\n.*\n\s+-d '(.+)'\n/.exec(text) as string[]
    expect(url).toBe(`${created.base_url}/api/v1/emails`)
    const reply = await t.ask('POST', new URL(url as string).pathname, {
      key: key as string,
      raw: body as string,
    })
    expect([reply.status, reply.body.status]).toEqual([200, 'sent'])
    const rows = await t.database.sql('select environment from messages where id = $1', [reply.body.id])
    expect(rows).toEqual([{ environment }])
  }
})
