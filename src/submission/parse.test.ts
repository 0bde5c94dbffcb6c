import { expect, onTestFinished, test } from 'vitest'
import { compose } from './compose.ts'
import { makeMailParser } from './parse.ts'

const parser = (options = {}) => {
  const made = makeMailParser(options)
  onTestFinished(made.close)
  return made
}

test('a message that takes too long is refused with its thread, and the next one is read', async () => {
  const { parse } = parser({ deadlineMs: 300 })
  await expect(parse(Buffer.from(`Subject: a\n\n${'\n'.repeat(199_000)}`))).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
  })
  const small = Buffer.from('Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHi')
  const subject = () =>
    parse(small).then(
      (mail) => mail.subject,
      () => 'too slow',
    )
  await expect.poll(subject, { timeout: 20_000 }).toBe('Grüße')
})

test('more lines than ten honest megabytes hold are refused unread', async () => {
  const { parse } = parser()
  await expect(parse(Buffer.alloc(200_001, '\n'))).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
})

test('only headers the API would take are carried, each once, fifty at most', async () => {
  const { parse } = parser()
  const many = Array.from({ length: 60 }, (_, i) => `X-H${i}: ${i}`).join('\r\n')
  const mail = await parse(
    Buffer.from(
      `Received: from a\r\nDKIM-Signature: x\r\nMessage-ID: <a@b>\r\nBcc: c@d.example\r\nX-Long: ${'y'.repeat(2_001)}\r\n` +
        `References: <a@b>\r\nreferences: <again@b>\r\nList-Id: =?utf-8?q?=C3=BC?=\r\n${many}\r\n\r\nx`,
    ),
  )
  const { headers } = compose(mail, ['a@example.com']).input as { headers: Record<string, string> }
  expect(Object.keys(headers)).toHaveLength(50)
  expect(headers).toMatchObject({ References: '<a@b>', 'List-Id': 'ü', 'X-H0': '0', 'X-H47': '47' })
})

test('files keep their names without paths, invitations say what they ask for', async () => {
  const { parse } = parser()
  const part = (lines: string[]) => `--a\r\n${lines.join('\r\n')}\r\n\r\nAAEC\r\n`
  const mail = await parse(
    Buffer.from(
      'Content-Type: multipart/mixed; boundary=a\r\n\r\n' +
        part([
          'Content-Type: application/pdf',
          'Content-Transfer-Encoding: base64',
          'Content-Disposition: attachment; filename="../a\\\\b.pdf"',
        ]) +
        part(['Content-Type: text/calendar; method=request; name=i.ics']) +
        part(['Content-Type: image/png', 'Content-Transfer-Encoding: base64']) +
        part(['Content-Type: message/rfc822']) +
        '--a--\r\n',
    ),
  )
  const { attachments } = compose(mail, ['a@example.com']).input
  expect(attachments).toEqual([
    { filename: '.._a_b.pdf', content: 'AAEC', content_type: 'application/pdf' },
    {
      filename: 'i.ics',
      content: expect.any(String),
      content_type: 'text/calendar; charset=utf-8; method=REQUEST',
    },
    { filename: 'attachment-3', content: 'AAEC', content_type: 'image/png' },
    { filename: 'attachment-4', content: expect.any(String), content_type: 'message/rfc822' },
  ])
})
