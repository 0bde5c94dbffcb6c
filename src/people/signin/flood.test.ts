import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { addPerson } from '../../../test/clients/people.ts'
import { goodPassword, openBrowser } from '../../../test/clients/sign-in-client.ts'
import { cheapHash } from '../../../test/service/cheap-password.ts'
import { startTestService } from '../../../test/service/service.ts'
import { hashPassword } from '../../customers/accounts/passwords.ts'

const t = await startTestService({ hashPassword })
afterAll(() => t.stop())
const acme = await t.org()

test('R-56 registrations from one address neither refuse nor break the sign-ins of others', async () => {
  const passwordHash = await hashPassword(goodPassword)
  const people = await Promise.all(Array.from({ length: 20 }, () => addPerson(t, { orgId: acme.org.id, passwordHash })))
  const flood = Array.from({ length: 130 }, (_, n) =>
    openBrowser(t, '198.51.100.7').post('/api/auth/register', {
      email: `flood${n}@example.com`,
      password: goodPassword,
      name: 'Ann Lee',
    }),
  )
  const honest = people.map(({ email }, n) =>
    openBrowser(t, `203.0.113.${n}`).post('/api/auth/login', { email, password: goodPassword }),
  )
  expect((await Promise.all(honest)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(Array(130).fill(202))
})

test('R-56 a sign-in that finds no free database connection after its mail is answered with 503', async () => {
  const small = await startTestService({
    env: { DATABASE_POOL_SIZE: '2' },
    config: { databaseConnectTimeoutMs: 5_000 },
  })
  const orgId = (await small.org()).org.id
  const passwordHash = await cheapHash(goodPassword)
  const people = await Promise.all(Array.from({ length: 8 }, () => addPerson(small, { orgId, passwordHash })))
  const holder = new pg.Client(small.database.url)
  await holder.connect()
  try {
    await holder.query('begin; lock table login_challenges in access exclusive mode')
    const replies = people.map(({ email }, n) =>
      openBrowser(small, `203.0.113.${n}`).post('/api/auth/login', { email, password: goodPassword }),
    )
    // Two wait for the lock, with the only connections. The others give up.
    const refused: number[] = []
    for (const reply of replies) reply.then(({ status }) => refused.push(status))
    await expect.poll(() => refused.length, { timeout: 30_000 }).toBe(6)
    expect(refused).toEqual(Array(6).fill(503))
    await holder.query('rollback')
    const statuses = (await Promise.all(replies)).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 200, ...Array(6).fill(503)])
  } finally {
    await holder.end()
    await small.stop()
  }
})
