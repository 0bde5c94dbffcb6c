/** Bounces and complaints by mail: a message goes out through a relay, and its report comes back over SMTP. */
import { createTransport } from 'nodemailer'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  complaint,
  deliver,
  exchangeBounce,
  gmailBounce,
  postfixBounce,
  startBouncingService,
} from '../../../test/clients/inbound-mail.ts'
import { postOf } from '../../../test/clients/post-client.ts'
import { ca, connectSmtp, tlsFiles } from '../../../test/clients/submission-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import { testMasterKey } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import { makeReturnTokens } from '../../sending/messages/email/return-token.ts'

const t = await startBouncingService()
afterAll(() => t.stop())
const acme = await t.org()
const orgId = acme.org.id
const post = postOf(t, acme)
const leavesNoTrace = await watchTables(t.database)
const tokens = makeReturnTokens({ masterKey: testMasterKey, previous: [] })

const accepted = '250 2.0.0 Accepted.'
const unknownMailbox = '550 5.1.1 There is no such mailbox here.'
let count = 0
const newReader = () => `reader${++count}@reader.test`

/** Sends a message and returns its id and its return path. */
const send = async (to: string[], more: Record<string, unknown> = {}) => {
  const id = await post.sent({ to, ...more })
  const relayed = t.relayed.find(({ raw }) => raw.includes(`X-Service-Message-Id: ${id}`))
  return { id, returnPath: relayed?.from as string }
}

const suppressed = (value: string) =>
  t.database.sql('select reason, source, message_id, tenant_id from suppressions where org_id = $1 and value = $2', [
    orgId,
    value,
  ])

const outcomeOf = async (id: string) => {
  const { status, error_message, history } = await post.row(id)
  return {
    status,
    error_message,
    history: history.slice(1).map((entry) => `${entry.status} ${entry.recipient}`),
    events: (await post.events(id)).slice(1).map(({ event }) => event),
  }
}

describe('the return path of a message', () => {
  test('has a token at the return host of its domain, and signs its org, message and recipient', async () => {
    const { id, returnPath } = await send([newReader()])
    const [token, host] = returnPath.split('@')
    expect([host, tokens.read(token as string)]).toEqual(['send.example.test', { orgId, messageId: id, recipient: 0 }])
  })

  test('names no recipient when the envelope has several', async () => {
    const { id, returnPath } = await send([newReader()], { cc: [newReader()] })
    expect(tokens.read(returnPath.split('@')[0] as string)).toEqual({ orgId, messageId: id, recipient: null })
  })

  test('is at the feedback host of the service while the domain has not published its own', async () => {
    await t.database.sql(`update domains set record_statuses = '{"DKIM": "found"}', updated_at = now()`)
    t.service.modules.senders.forgetOrg(orgId)
    const { returnPath } = await send([newReader()])
    await t.database.sql(
      `update domains set record_statuses = '{"DKIM": "found", "RETURN_PATH": "found", "SPF": "found"}'`,
    )
    t.service.modules.senders.forgetOrg(orgId)
    expect(returnPath).toMatch(/^b[0-9a-z]{63}@feedback\.tidings\.test$/)
    expect(await deliver(t.port, returnPath, postfixBounce({ recipient: `reader${count}@reader.test` }))).toBe(accepted)
  })
})

describe('a bounce', () => {
  test.for([
    ['Postfix', postfixBounce, '550 5.1.1 <gone>: Recipient address rejected: User unknown'],
    [
      'Exchange',
      exchangeBounce,
      '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    ],
    [
      'Gmail',
      gmailBounce,
      "550-5.1.1 The email account that you tried to reach does not exist. Please try 550-5.1.1 double-checking the recipient's email address for typos or 550 5.1.1 unnecessary spaces. - gsmtp",
    ],
  ] as const)(
    'of %s marks the message as bounced, suppresses its recipient and fires one event',
    async ([, report, detail]) => {
      const recipient = newReader()
      const { id, returnPath } = await send([recipient])
      expect(await deliver(t.port, returnPath, report({ recipient }))).toBe(accepted)
      expect(await outcomeOf(id)).toEqual({
        status: 'bounced',
        error_message: `Hard bounce: ${detail}`,
        history: [`bounced ${recipient}`],
        events: ['message.bounced'],
      })
      expect((await post.events(id)).at(-1)?.data).toMatchObject({ message_id: id, status: 'bounced', reason: detail })
      expect(await suppressed(recipient)).toEqual([
        { reason: 'bounce', source: 'provider', message_id: id, tenant_id: null },
      ])
    },
  )

  test('S-241 that is delivered twice counts once', async () => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    const report = postfixBounce({ recipient })
    expect(await deliver(t.port, returnPath, report)).toBe(accepted)
    expect(await leavesNoTrace(() => deliver(t.port, returnPath, report))).toBe(accepted)
    expect((await outcomeOf(id)).events).toEqual(['message.bounced'])
  })

  test('that only announces a delay changes nothing', async () => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    const delay = postfixBounce({ recipient, action: 'delayed', status: '4.4.1', diagnostic: 'smtp; 421 busy' })
    expect(await leavesNoTrace(() => deliver(t.port, returnPath, delay))).toBe(accepted)
    expect((await post.row(id)).status).toBe('sent')
  })

  test.for([
    ['5.7.1', 'smtp; 550 5.7.1 blocked', 'Soft bounce: 550 5.7.1 blocked'],
    ['5.2.2', 'smtp; 552 5.2.2 over quota', 'Soft bounce: 552 5.2.2 over quota'],
    ['4.4.1', 'smtp; 421 no answer', 'Soft bounce: 421 no answer'],
  ])('with status %s is soft and suppresses nobody', async ([status, diagnostic, error]) => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    expect(await deliver(t.port, returnPath, postfixBounce({ recipient, status, diagnostic }))).toBe(accepted)
    const outcome = await outcomeOf(id)
    expect([outcome.status, outcome.error_message]).toEqual(['bounced', error])
    expect(await suppressed(recipient)).toEqual([])
  })

  test('at an address that the only recipient forwards to counts for that recipient', async () => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    await deliver(t.port, returnPath, gmailBounce({ recipient: 'private@elsewhere.test' }))
    expect((await outcomeOf(id)).history).toEqual([`bounced ${recipient}`])
    expect(await suppressed('private@elsewhere.test')).toEqual([])
  })

  test('SD-62 of one of several recipients concerns only that one', async () => {
    const [kept, gone] = [newReader(), newReader()]
    const { id, returnPath } = await send([kept], { bcc: [gone] })
    await deliver(t.port, returnPath, exchangeBounce({ recipient: gone.toUpperCase() }))
    expect((await outcomeOf(id)).history).toEqual([`bounced ${gone}`])
    expect([await suppressed(kept), (await suppressed(gone)).length]).toEqual([[], 1])
  })

  test('that names an address which the message was not sent to changes nothing', async () => {
    const { returnPath } = await send([newReader(), newReader()])
    const forged = postfixBounce({ recipient: 'victim@reader.test' })
    expect(await leavesNoTrace(() => deliver(t.port, returnPath, forged))).toBe(accepted)
  })

  test('that returns a large message is read without the rest of it', async () => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    const large = postfixBounce({ recipient }).replace('Thank you.', `${'x'.repeat(76)}\r\n`.repeat(100_000))
    expect(await deliver(t.port, returnPath, large)).toBe(accepted)
    expect((await post.row(id)).status).toBe('bounced')
  })
})

describe('a complaint', () => {
  test('suppresses the recipient for good and fires one event', async () => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    expect(await deliver(t.port, returnPath, complaint({ recipient }), 'feedback@mailbox.example')).toBe(accepted)
    expect((await outcomeOf(id)).events).toEqual(['message.complained'])
    expect(await suppressed(recipient)).toEqual([
      { reason: 'complaint', source: 'provider', message_id: id, tenant_id: null },
    ])
  })

  test('without the address counts for the only recipient', async () => {
    const recipient = newReader()
    const { returnPath } = await send([recipient])
    await deliver(t.port, returnPath, complaint({ recipient: undefined }))
    expect(await suppressed(recipient)).toMatchObject([{ reason: 'complaint' }])
  })

  test.for(['not-spam', 'auth-failure'])('of type %s changes nothing', async (type) => {
    const recipient = newReader()
    const { returnPath } = await send([recipient])
    expect(await leavesNoTrace(() => deliver(t.port, returnPath, complaint({ recipient, type })))).toBe(accepted)
  })
})

describe('the port for bounces', () => {
  test('refuses forged tokens, other mailboxes and other hosts before the message', async () => {
    const { returnPath } = await send([newReader()])
    const [token = ''] = returnPath.split('@')
    const forged = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
    const stranger = makeReturnTokens({ masterKey: Buffer.alloc(32, 9), previous: [] })
    const foreign = stranger.sign({ orgId, messageId: newId('message'), recipient: 0 })
    const addresses = [
      `${forged}@feedback.tidings.test`,
      `${foreign}@feedback.tidings.test`,
      'postmaster@feedback.tidings.test',
      // No relaying, and no mail for a host that is not the return path of the token's org.
      `${token}@elsewhere.test`,
      'ann@reader.test',
    ]
    for (const address of addresses) {
      const report = postfixBounce({ recipient: 'x@reader.test' })
      expect(await leavesNoTrace(() => deliver(t.port, address, report))).toBe(unknownMailbox)
    }
  })

  test('accepts a token at every feedback host, in any case', async () => {
    const { returnPath } = await send([newReader()])
    const [token = ''] = returnPath.split('@')
    const report = postfixBounce({ recipient: 'x@reader.test', action: 'delayed' })
    for (const host of ['feedback.tidings.test', 'feedback.eu-west-1.tidings.test', 'send.example.test']) {
      expect(await deliver(t.port, `${token.toUpperCase()}@${host.toUpperCase()}`, report)).toBe(accepted)
    }
  })

  test('refuses the return host of another org', async () => {
    const other = await t.org()
    await t.database.sql("update domains set return_path = 'other' where org_id = $1", [other.org.id])
    const { returnPath } = await send([newReader()])
    const address = `${returnPath.split('@')[0]}@other.example.test`
    expect(await deliver(t.port, address, postfixBounce({ recipient: 'x@reader.test' }))).toBe(unknownMailbox)
  })

  test('accepts and drops what is not a report', async () => {
    const { returnPath } = await send([newReader()])
    const reply =
      'From: ann@reader.test\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nBack soon.\r\n'
    const broken = 'Content-Type: multipart/report; boundary=a\r\n\r\nno part\r\n'
    const deep = Array.from({ length: 40 }, (_, n) => `Content-Type: multipart/mixed; boundary=${n}\r\n\r\n--${n}\r\n`)
    for (const raw of [reply, broken, deep.join(''), '\r\n']) {
      expect(await leavesNoTrace(() => deliver(t.port, returnPath, raw))).toBe(accepted)
    }
  })

  test('asks the server to try again when the report cannot be recorded, and records it then', async () => {
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    await t.database.sql('alter table provider_notifications rename to hidden_notifications')
    const refused = await deliver(t.port, returnPath, postfixBounce({ recipient }))
    await t.database.sql('alter table hidden_notifications rename to provider_notifications')
    expect([refused, (await post.row(id)).status, await suppressed(recipient)]).toEqual([
      '451 4.3.0 The message could not be processed. Try again later.',
      'sent',
      [],
    ])
    expect(await deliver(t.port, returnPath, postfixBounce({ recipient }))).toBe(accepted)
    expect((await post.row(id)).status).toBe('bounced')
  })

  test('takes one recipient at a time', async () => {
    const first = await send([newReader()])
    const second = await send([newReader()])
    const { command, socket } = await connectSmtp(t.port)
    await command('MAIL FROM:<>')
    expect(await command(`RCPT TO:<${first.returnPath}>`)).toMatch(/^250 /)
    expect(await command(`RCPT TO:<${second.returnPath}>`)).toBe('452 4.5.3 Send to one recipient at a time.')
    socket.destroy()
  })

  test('disconnects a client that guesses addresses', async () => {
    const { command, closed } = await connectSmtp(t.port)
    await command('MAIL FROM:<>')
    for (let guess = 0; guess < 4; guess++) expect(await command(`RCPT TO:<a${guess}@x.test>`)).toBe(unknownMailbox)
    expect(await command('RCPT TO:<a5@x.test>')).toBe('421 4.7.0 Too many unknown recipients.')
    await closed
  })

  test('offers neither authentication nor STARTTLS without a certificate', async () => {
    const { command, reply, socket } = await connectSmtp(t.port, false)
    await reply()
    const greeting = await command('EHLO mx.reader.test')
    expect(greeting).not.toMatch(/AUTH|STARTTLS/)
    expect(greeting).toMatch(/SIZE/)
    expect(await command('AUTH PLAIN AGEAYg==')).toMatch(/^5\d\d /)
    socket.destroy()
  })

  test('receives a bounce over STARTTLS when there is a certificate', async () => {
    const secure = await startBouncingService({ env: tlsFiles, database: t.database })
    onTestFinished(secure.stop)
    const recipient = newReader()
    const { id, returnPath } = await send([recipient])
    const options = { host: '127.0.0.1', port: secure.port, requireTLS: true, tls: { ca } }
    const transport = createTransport(options)
    const envelope = { from: '', to: returnPath }
    expect((await transport.sendMail({ raw: postfixBounce({ recipient }), envelope })).response).toBe(accepted)
    transport.close()
    expect((await post.row(id)).status).toBe('bounced')
  })

  test('limits the connections of one address', async () => {
    const open = await Promise.all(Array.from({ length: 20 }, () => connectSmtp(t.port, true, '127.0.0.9')))
    const refused = await connectSmtp(t.port, false, '127.0.0.9')
    expect(await refused.reply()).toMatch(/^421 4\.7\.0 Too many connections from this address/)
    for (const { socket } of open) socket.destroy()
  })
})
