/** Rows of a send before they are messages. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { blastClient, email, readers } from '../../../test/clients/blast-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { copyLine } from './copy-text.ts'
import { openStaging } from './stage-messages.ts'
import { stagedTable } from './store/staged-rows.ts'

const t = await startTestService()
afterAll(() => t.stop())

type Content = { subject: string; html: string; to: string[]; headers: Record<string, string> }

const lineOf = (orgId: string, jobId: string, place: number, content: Partial<Content> = {}) => {
  const id = newId('message')
  const { subject = 'Hi', html = 'Hi', to = ['ada@reader.test'], headers = {} } = content
  const line = copyLine(
    {
      place,
      org_id: orgId,
      id,
      created_at: new Date(timeOfId(id)).toISOString(),
      environment: 'live',
      project_id: 'prj_none',
      channel: 'email',
      status: 'scheduled',
      stream: 'broadcast',
      from_address: 'hello@example.test',
      to_addresses: to,
      subject,
      html,
      headers,
      history: [],
      marks: [1, -1],
      job_id: jobId,
    },
    stagedTable,
  )
  return { id, line }
}

async function* linesOf(...lines: string[]): AsyncGenerator<string> {
  for (const line of lines) yield line
}

test.each(['scheduled', 'running', 'completed', 'canceled', 'scheduling'])(
  'S-369 SD-93 rows become messages only while their job is being scheduled: %s',
  async (status) => {
    const own = await blastClient(t)
    const template = await own.template({ channel: 'email', subject: 'Hi', text: 'Hi' })
    const { job_id } = await own.sent(await own.audience(readers(1)), email(template))
    await t.database.sql('update jobs set status = $2 where id = $1', [job_id, status])
    const staged = await openStaging(t.service.db)
    await staged.add(linesOf(lineOf(own.orgId, job_id, 0).line, lineOf(own.orgId, job_id, 1).line))
    const job = { orgId: own.orgId, id: job_id }
    const moved = [await staged.move(job, 0, 1), await staged.move(job, 1, 5)]
    await staged.close()
    const allowed = status === 'scheduling' ? 1 : 0
    expect(moved).toEqual([allowed, allowed])
    expect((await own.stored())?.messages).toBe(1 + 2 * allowed)
  },
)

test('every text arrives as it was written, whatever characters it has', async () => {
  const own = await blastClient(t)
  const template = await own.template({ channel: 'email', subject: 'Hi', text: 'Hi' })
  const { job_id } = await own.sent(await own.audience(readers(1)), email(template))
  await t.database.sql("update jobs set status = 'scheduling' where id = $1", [job_id])
  const staged = await openStaging(t.service.db)
  let place = 0
  const text = fc
    .array(
      fc.constantFrom('\\', '\n', '\r', '\t', '"', "'", '{', '}', ',', '\\N', '\\.', 'NULL', ' ', 'é', '語', '😀', 'x'),
    )
    .map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(text, text, fc.array(text, { minLength: 1, maxLength: 3 }), async (subject, html, to) => {
      const headers = { 'X-A': subject, [html]: 'x' }
      const { id, line } = lineOf(own.orgId, job_id, place, { subject, html, to, headers })
      await staged.add(linesOf(line))
      expect(await staged.move({ orgId: own.orgId, id: job_id }, place, place + 1)).toBe(1)
      place++
      const [row] = await t.database.sql(
        'select subject, html, to_addresses as to, headers from messages where id = $1',
        [id],
      )
      expect(row).toEqual({ subject, html, to, headers })
    }),
    { numRuns: 60 },
  )
  await staged.close()
})

test('a send that is refused while its rows are copied leaves no connection open', async () => {
  const connections = () =>
    t.database.sql(
      "select 1 as n from pg_stat_activity where datname = current_database() and query ilike '%staged_messages%'",
    )
  const own = await blastClient(t)
  const template = await own.template({ channel: 'email', subject: 'Hi', text: `{{name}}${'x'.repeat(950_000)}` })
  const reply = await own.post(await own.audience(readers(500)), email(template))
  expect(reply.body.error.code).toBe('PAYLOAD_TOO_LARGE')
  // The question itself contains the name.
  await expect.poll(connections).toHaveLength(1)
  expect(await own.stored()).toEqual({ messages: 0, jobs: 0 })
})
