/** How large the messages of a send may be. */
import { describe, expect, test } from 'vitest'
import { blastClient, email, readers } from '../../../test/clients/blast-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { sharedTestService } from '../../../test/service/service.ts'
import { makeMeasure, maxMessageBytes, maxSendBytes, sizeOf } from './message-size.ts'

const t = await sharedTestService()

/** The subject, html, text and headers of a stored message, as they count. */
const storedSize = async (jobId: string): Promise<number> => {
  const [row] = await t.database.sql<{ subject: string; html: string; text: string; headers: object }>(
    'select subject, html, text, headers from messages where job_id = $1',
    [jobId],
  )
  return Buffer.byteLength(JSON.stringify(row))
}

describe('one message', () => {
  test('S-391 S-394 X-348 SD-104 exactly 900,000 bytes are accepted, and one more names the contact', async () => {
    const own = await blastClient(t)
    const contactId = 'con_01k80000000000000000000001'
    const id = await own.audience([{ id: contactId, email: 'one@reader.test' }])
    const template = await own.template({ channel: 'email', subject: 'é', html: '<p>{{a}}</p>', text: '{{pad}}x' })
    // Variables have up to 64 KB, so most of the message is in the template.
    const large = await own.template({
      channel: 'email',
      subject: 'é',
      html: `<p>{{a}}</p>${'y'.repeat(890_000)}`,
      text: '{{pad}}x',
    })
    const variables = (length: number) => ({ a: '"', pad: 'p'.repeat(length) })
    const small = await own.sent(id, email(template, { variables: variables(0) }))
    const size = (await storedSize(small.job_id)) + 890_000
    const fits = await own.sent(id, email(large, { variables: variables(maxMessageBytes - size) }))
    expect(await storedSize(fits.job_id)).toBe(maxMessageBytes)
    const before = await own.stored()
    const reply = await own.post(id, email(large, { variables: variables(maxMessageBytes - size + 1) }))
    const message = 'The message has more than 900,000 bytes.'
    expectRefusal(reply, 'PAYLOAD_TOO_LARGE', {
      message: `Contact ${contactId}: ${message}`,
      errors: [{ path: ['contacts', contactId], code: 'too_large', message }],
    })
    expect(await own.stored()).toEqual(before)
  })

  test('S-395 X-230 a template over a render cap is 413 and names the contact', async () => {
    const own = await blastClient(t)
    const contactId = 'con_01k80000000000000000000002'
    const id = await own.audience([...readers(1), { id: contactId, email: 'two@reader.test' }])
    const loop = '{{#each list}}{{#each list}}x{{/each}}{{/each}}'
    const template = await own.template({
      channel: 'email',
      subject: 'Hi',
      text: `{{name}}{{#if name}}ok{{/if}}{{#unless name}}${loop}{{/unless}}`,
    })
    const reply = await own.post(id, email(template, { variables: { list: Array.from({ length: 100 }, () => 1) } }))
    expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      ['contacts', contactId],
    ])
    expect(await own.stored()).toEqual({ messages: 0, jobs: 0 })
  })
})

describe('the whole send', () => {
  const content = (text: string) => ({ text })
  const empty = sizeOf(content('')).bytes

  test('S-392 X-349 exactly 500,000,000 bytes are accepted, and the message that passes them is named', () => {
    const measure = makeMeasure()
    const text = 'x'.repeat(500_000 - empty)
    for (let i = 0; i < 999; i++) measure('con_first', content(text))
    expect(measure('con_last', content(text))).toBe(maxSendBytes)
    expect(() => measure('con_over', content(''))).toThrow('Contact con_over')
  })

  test('S-393 a message with a character outside Latin-1 counts two bytes per character if that is more', () => {
    const wide = content(`${'x'.repeat(99)}Ω`)
    expect(sizeOf(wide)).toEqual({ bytes: empty + 101, counted: 2 * (empty + 100) })
    // Three bytes per character in UTF-8 are more than two.
    const wider = content('語'.repeat(1_000))
    expect(sizeOf(wider)).toEqual({ bytes: empty + 3_000, counted: empty + 3_000 })
    const latin = content('é'.repeat(100))
    expect(sizeOf(latin)).toEqual({ bytes: empty + 200, counted: empty + 200 })
  })
})
