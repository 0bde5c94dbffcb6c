import { expect, test } from 'vitest'
import { testService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import { makeSendNotice } from './notice.ts'

test('XD-13 a notice is emailed separately to each owner and developer of the org with a verified address', async () => {
  const t = await testService()
  const { org, owner } = await t.org()
  const other = await t.org({ name: 'Other' })
  const join = async (email: string, role: string, verified: boolean) => {
    const id = newId('user')
    const at = t.service.clock.now()
    await t.database.sql(
      `insert into users (id, email, email_verified_at, created_at, updated_at) values ($1, $2, $3, $4, $4)`,
      [id, email, verified ? at : null, at],
    )
    await t.database.sql(
      'insert into memberships (org_id, id, user_id, role, created_at) values ($1, $2, $3, $4, $5)',
      [org.id, newId('membership'), id, role, at],
    )
  }
  await join('dev@example.com', 'developer', true)
  await join('unverified@example.com', 'developer', false)
  await join('viewer@example.com', 'viewer', true)

  const { db, clock, emailProvider: provider } = t.service.modules
  const notify = makeSendNotice({ db, clock, provider, serviceDomain: 'tidings.test' })
  await notify({ orgId: org.id, subject: 'A webhook endpoint was disabled', text: 'Enable it again.' })

  const { body } = await t.ask('GET', '/api/dev/outbox')
  const sent = body.data.map(({ from, to, cc, bcc, subject, text }: Record<string, unknown>) => {
    return { from, to, cc, bcc, subject, text }
  })
  const mail = (to: string) => ({
    from: 'Tidings <notices@tidings.test>',
    to: [to],
    cc: [],
    bcc: [],
    subject: 'A webhook endpoint was disabled',
    text: 'Enable it again.',
  })
  expect(sent).toHaveLength(2)
  expect(sent).toEqual(expect.arrayContaining([mail('dev@example.com'), mail(owner.email)]))
  expect(other.owner.email).not.toBe(owner.email)
})
