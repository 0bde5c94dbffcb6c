import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../../test/service/service.ts'
import { welcome } from './welcome.ts'

const t = await startTestService()
afterAll(() => t.stop())

test('the request that a first start prints sends an email, with a domain and without', async () => {
  const founded = await t.org()
  for (const [domain, environment] of [
    [founded.domain, 'live'],
    [null, 'test'],
  ] as const) {
    const text = welcome({ ...founded, domain })
    const [, url, key, body] = /curl (\S+) \\\n.*Bearer (\S+)' \\\n.*\n\s+-d '(.+)'\n/.exec(text) as string[]
    expect(url).toBe(`${founded.base_url}/api/v1/emails`)
    const reply = await t.ask('POST', new URL(url as string).pathname, {
      key: key as string,
      raw: body as string,
    })
    expect([reply.status, reply.body.status]).toEqual([200, 'sent'])
    const rows = await t.database.sql('select environment from messages where id = $1', [reply.body.id])
    expect(rows).toEqual([{ environment }])
  }
})
