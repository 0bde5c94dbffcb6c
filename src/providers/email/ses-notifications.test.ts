import { createSign } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Signer, selfSigned } from '../../../test/providers/email.ts'
import { movableClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { SignatureFault } from '../bad-signature.ts'
import { parseSesNotification } from './ses-notifications.ts'
import { snsAddress } from './sns.ts'
import { makeSnsIntake, type SnsIntakeNeeds } from './sns-intake.ts'

const topic = 'arn:aws:sns:eu-west-1:123456789012:ses-events'
const certificateUrl = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc.pem'
const orgId = newId('org')
const messageId = newId('message')

let signer: Signer
let otherSigner: Signer
beforeAll(async () => {
  ;[signer, otherSigner] = await Promise.all([selfSigned('sns.amazonaws.com'), selfSigned('sns.amazonaws.com')])
})

type Fields = Record<string, string>

/** Signs as the SNS documentation describes, independently of the code under test. */
const signed = (fields: Fields, version = '2', key = signer.key): Fields => {
  const order = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
  let text = ''
  for (const name of order) if (fields[name] !== undefined) text += `${name}\n${fields[name]}\n`
  const signature = createSign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256')
    .update(text)
    .sign(key, 'base64')
  return { SigningCertURL: certificateUrl, ...fields, SignatureVersion: version, Signature: signature }
}

const notification = (message: unknown, changes: Fields = {}): Fields => ({
  Type: 'Notification',
  MessageId: 'sns-1',
  TopicArn: topic,
  Message: typeof message === 'string' ? message : JSON.stringify(message),
  Timestamp: '2026-11-15T10:00:00.000Z',
  ...changes,
})

const confirmation = (changes: Fields = {}): Fields => ({
  Type: 'SubscriptionConfirmation',
  MessageId: 'sns-2',
  TopicArn: topic,
  Message: 'You have chosen to subscribe',
  Timestamp: '2026-11-15T10:00:00.000Z',
  Token: 'token',
  SubscribeURL: `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}&Token=token`,
  ...changes,
})

const intakeWith = (changes: Partial<SnsIntakeNeeds> = {}) => {
  const fetched: string[] = []
  const confirmed: string[] = []
  const intake = makeSnsIntake(
    {
      topics: [topic],
      clock: movableClock(),
      log: silentLog(),
      fetchCertificate: async (url) => {
        fetched.push(url)
        return signer.certificate
      },
      confirm: async (url) => {
        confirmed.push(url)
        return ''
      },
      ...changes,
    },
    parseSesNotification,
  )
  return { take: (fields: unknown) => intake.take(JSON.parse(JSON.stringify(fields))), intake, fetched, confirmed }
}

const mail = {
  timestamp: '2026-11-15T09:00:00.000Z',
  messageId: '0100-ses',
  destination: ['ann@reader.test', 'jo@reader.test'],
  tags: { 'tidings-org': [orgId], 'tidings-message': [messageId], 'ses:from-domain': ['example.test'] },
}

const delivery = {
  eventType: 'Delivery',
  mail,
  delivery: {
    timestamp: '2026-11-15T09:00:05.123Z',
    recipients: ['ann@reader.test'],
    smtpResponse: '250 2.6.0 Message received',
  },
}

const delivered = {
  notificationId: 'sns-1',
  orgId,
  messageId,
  report: {
    kind: 'delivered',
    recipients: ['ann@reader.test'],
    at: new Date('2026-11-15T09:00:05.123Z'),
    detail: '250 2.6.0 Message received',
    bounceType: null,
    bounceSubtype: null,
  },
}

describe('an SNS message', () => {
  test.each(['1', '2'])('is accepted with a valid signature of version %s', async (version) => {
    const { take, fetched } = intakeWith()
    for (const subject of [{}, { Subject: 'Amazon SES' }]) {
      expect(await take(signed(notification(delivery, subject as Fields), version))).toEqual({
        kind: 'notification',
        notifications: [delivered],
      })
    }
    expect(fetched).toEqual([certificateUrl])
  })

  test('is rejected when a signed field has changed', async () => {
    const { take } = intakeWith()
    const good = signed(notification(delivery, { Subject: 'a' }))
    const changes: Fields[] = [
      { Message: JSON.stringify({ ...delivery, eventType: 'Complaint' }) },
      { MessageId: 'sns-9' },
      { Subject: 'b' },
      { Timestamp: '2026-11-15T10:00:01.000Z' },
      { Signature: signed(notification('other')).Signature as string },
      { Signature: 'AAAA' },
      { SignatureVersion: '1' },
    ]
    for (const change of changes) {
      await expect(take({ ...good, ...change })).rejects.toThrow(SignatureFault)
    }
    const { Subject: _, ...without } = good
    await expect(take(without)).rejects.toThrow(SignatureFault)
    await expect(take(signed(notification(delivery), '2', otherSigner.key))).rejects.toThrow(SignatureFault)
    expect((await take(good)).kind).toBe('notification')
  })

  test('is rejected from a topic that is not configured, without fetching anything', async () => {
    const { take, fetched, confirmed } = intakeWith()
    const other = 'arn:aws:sns:eu-west-1:999999999999:ses-events'
    for (const fields of [notification(delivery, { TopicArn: other }), confirmation({ TopicArn: other })]) {
      await expect(take(signed(fields))).rejects.toThrow(SignatureFault)
    }
    await expect(intakeWith({ topics: [] }).take(signed(notification(delivery)))).rejects.toThrow(SignatureFault)
    expect([fetched, confirmed]).toEqual([[], []])
  })

  test.each([
    'http://sns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com/a.txt',
    'https://sns.eu-west-1.amazonaws.com/a?b=.pem',
    'https://sns.eu-west-1.amazonaws.com:8443/a.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.test/a.pem',
    'https://sns.eu-west-1.amazonaws.com@evil.test/a.pem',
    'https://evil.test/sns.eu-west-1.amazonaws.com/a.pem',
    'https://evil.test#.sns.eu-west-1.amazonaws.com/a.pem',
    'https://evil-sns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.amazonaws.com/a.pem',
    'https://sns.evil.eu-west-1.amazonaws.com/a.pem',
    'https://s3.eu-west-1.amazonaws.com/sns/a.pem',
    'https://127.0.0.1/a.pem',
    'file:///etc/a.pem',
    'a.pem',
  ])('is rejected with a certificate at %s, which is not fetched', async (url) => {
    const { take, fetched } = intakeWith()
    await expect(take(signed(notification(delivery, { SigningCertURL: url })))).rejects.toThrow(SignatureFault)
    expect(fetched).toEqual([])
  })

  test('is rejected with a certificate that is expired, not yet valid or unreadable', async () => {
    const clock = movableClock()
    const { take } = intakeWith({ clock })
    const message = signed(notification(delivery))
    expect((await take(message)).kind).toBe('notification')
    clock.advance(31 * 86_400_000)
    await expect(take(message)).rejects.toThrow('expired or not yet valid')
    const early = { millis: () => Date.now() - 86_400_000 * 2, now: () => new Date(0) }
    await expect(intakeWith({ clock: early }).take(message)).rejects.toThrow('expired or not yet valid')
    await expect(intakeWith({ fetchCertificate: async () => 'not a certificate' }).take(message)).rejects.toThrow(
      SignatureFault,
    )
  })

  test('causes a temporary error when its certificate cannot be fetched, and is accepted later', async () => {
    let reachable = false
    const fetchCertificate = async () => {
      if (!reachable) throw new Error('no network')
      return signer.certificate
    }
    const { take } = intakeWith({ fetchCertificate })
    const message = signed(notification(delivery))
    const fault = await take(message).catch((error: unknown) => error)
    expect(fault).not.toBeInstanceOf(SignatureFault)
    expect(fault).toMatchObject({ message: 'no network' })
    reachable = true
    expect((await take(message)).kind).toBe('notification')
  })

  test('shares one certificate fetch with concurrent messages, and at most 16 certificates are cached', async () => {
    const { take, fetched } = intakeWith()
    const at = (n: number) =>
      signed(notification(delivery, { SigningCertURL: `https://sns.eu-west-1.amazonaws.com/${n}.pem` }))
    await Promise.all([take(at(0)), take(at(0)), take(at(0))])
    expect(fetched).toHaveLength(1)
    for (let n = 1; n <= 16; n++) await take(at(n))
    expect(fetched).toHaveLength(17)
    await take(at(16))
    expect(fetched).toHaveLength(17)
    await take(at(0))
    expect(fetched).toHaveLength(18)
  })

  test('is rejected when the body is not an SNS message', async () => {
    const { intake, fetched } = intakeWith()
    for (const body of ['', '{', 'null', '[]', '{}', '"a"', '{"Type":"Notification"}', '{"__proto__":{}}']) {
      await expect(intake.take(body)).rejects.toThrow(SignatureFault)
    }
    await expect(intake.take(JSON.stringify({ ...signed(notification('a')), Message: 5 }))).rejects.toThrow(
      SignatureFault,
    )
    expect(fetched).toEqual([])
  })
})

describe('a subscription', () => {
  test('to a configured topic is confirmed, and only at SNS', async () => {
    const { take, confirmed } = intakeWith()
    const good = confirmation()
    expect(await take(signed(good))).toEqual({ kind: 'confirmed' })
    expect(confirmed).toEqual([good.SubscribeURL])
    for (const SubscribeURL of [
      'https://evil.test/?Action=ConfirmSubscription',
      'http://169.254.169.254/latest/meta-data',
      `https://sns.eu-west-1.amazonaws.com/?Action=DeleteTopic&TopicArn=${topic}`,
      `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}-other`,
    ]) {
      expect(await take(signed(confirmation({ SubscribeURL })))).toEqual({ kind: 'ignored' })
    }
    await expect(take({ ...signed(good), SubscribeURL: `${good.SubscribeURL}&x=1` })).rejects.toThrow(SignatureFault)
    expect(confirmed).toHaveLength(1)
  })

  test('that ends is ignored', async () => {
    const { take, confirmed } = intakeWith()
    expect(await take(signed(confirmation({ Type: 'UnsubscribeConfirmation' })))).toEqual({ kind: 'ignored' })
    expect(confirmed).toEqual([])
  })

  test('that cannot be confirmed causes a temporary error', async () => {
    const failing = intakeWith({ confirm: () => Promise.reject(new Error('no network')) })
    await expect(failing.take(signed(confirmation()))).rejects.toThrow('no network')
  })

  test('is never confirmed at a host that only looks like SNS', () => {
    expect(snsAddress('https://sns.us-gov-west-1.amazonaws.com/')?.hostname).toBe('sns.us-gov-west-1.amazonaws.com')
    expect(snsAddress('https://user:pass@sns.eu-west-1.amazonaws.com/')).toBeUndefined()
    expect(snsAddress('https://sns.eu-west-1.amazonaws.com\\@evil.test/')?.hostname).not.toBe('evil.test')
  })
})

describe('an SES event', () => {
  const reportOf = async (event: unknown) => {
    const result = await intakeWith().take(signed(notification(event)))
    return result.kind === 'notification' ? result.notifications.map(({ report }) => report) : result.kind
  }

  const bounce = (
    bounceType: string,
    bounceSubType: string,
    codes: (string | undefined)[] = ['smtp; 550 5.1.1 x'],
  ) => ({
    eventType: 'Bounce',
    mail,
    bounce: {
      bounceType,
      bounceSubType,
      timestamp: '2026-11-15T09:00:05.000Z',
      bouncedRecipients: codes.map((diagnosticCode, i) => ({
        emailAddress: `r${i}@reader.test`,
        diagnosticCode,
      })),
    },
  })

  test.each([
    ['Permanent', 'General', 'hard_bounce'],
    ['Permanent', 'Suppressed', 'hard_bounce'],
    ['Transient', 'MailboxFull', 'soft_bounce'],
    ['Undetermined', 'Undetermined', 'soft_bounce'],
    ['SomethingNew', 'General', 'soft_bounce'],
  ])('of a bounce of type %s, %s is a %s', async (type, subtype, kind) => {
    expect(await reportOf(bounce(type, subtype))).toEqual([
      {
        kind,
        recipients: ['r0@reader.test'],
        bounceType: type,
        bounceSubtype: subtype,
        at: new Date('2026-11-15T09:00:05.000Z'),
        detail: 'smtp; 550 5.1.1 x',
      },
    ])
  })

  test('of a bounce lists every recipient, and each diagnostic text once', async () => {
    const codes = ['550 a', '550 b', '550 a', undefined]
    expect(await reportOf(bounce('Permanent', 'General', codes))).toMatchObject([
      {
        recipients: ['r0@reader.test', 'r1@reader.test', 'r2@reader.test', 'r3@reader.test'],
        detail: '550 a; 550 b',
      },
    ])
    expect(await reportOf(bounce('Permanent', 'General', [undefined]))).toMatchObject([{ detail: null }])
  })

  const complaint = (complaintFeedbackType?: string) => ({
    eventType: 'Complaint',
    mail,
    complaint: {
      timestamp: '2026-11-15T09:30:00.000Z',
      complainedRecipients: [{ emailAddress: 'Ann <ann@reader.test>' }],
      ...(complaintFeedbackType && { complaintFeedbackType }),
    },
  })

  test('of a complaint is reported unless it withdraws a complaint', async () => {
    expect(await reportOf(complaint('abuse'))).toEqual([
      {
        kind: 'complaint',
        recipients: ['ann@reader.test'],
        detail: 'abuse',
        at: new Date('2026-11-15T09:30:00.000Z'),
        bounceType: null,
        bounceSubtype: null,
      },
    ])
    expect(await reportOf(complaint())).toMatchObject([{ kind: 'complaint', detail: null }])
    expect(await reportOf(complaint('not-spam'))).toBe('ignored')
  })

  test('of mail that SES accepted but did not send is a soft bounce', async () => {
    const expected = {
      kind: 'soft_bounce',
      recipients: mail.destination,
      at: new Date('2026-11-15T10:00:00.000Z'),
    }
    expect(await reportOf({ eventType: 'Reject', mail, reject: { reason: 'Bad content' } })).toEqual([
      { ...expected, detail: 'Bad content', bounceType: 'Reject', bounceSubtype: null },
    ])
    const failure = { errorMessage: 'Attribute is missing', templateName: 't' }
    expect(await reportOf({ eventType: 'Rendering Failure', mail, failure })).toEqual([
      { ...expected, detail: 'Attribute is missing', bounceType: 'RenderingFailure', bounceSubtype: null },
    ])
  })

  test('is ignored when it changes nothing, belongs to other mail or cannot be parsed', async () => {
    const delay = { delayType: 'TransientCommunicationFailure', delayedRecipients: [] }
    const foreign = { ...mail, tags: {} }
    for (const event of [
      { eventType: 'Send', mail, send: {} },
      { eventType: 'DeliveryDelay', mail, deliveryDelay: delay },
      { eventType: 'Open', mail, open: {} },
      { eventType: 'Subscription', mail },
      { eventType: 'SomethingNew', mail },
      { eventType: 'Bounce', mail },
      { ...delivery, mail: foreign },
      { ...delivery, mail: { ...mail, tags: { ...mail.tags, 'tidings-message': ["msg_1' or 1=1"] } } },
      { ...delivery, mail: { ...mail, tags: { ...mail.tags, 'tidings-org': [messageId] } } },
      'Successfully validated SNS topic for Amazon SES event publishing.',
      '[]',
      'null',
    ]) {
      expect(await reportOf(event)).toBe('ignored')
    }
  })

  test('of a feedback notification is linked to its message by the headers of the mail', async () => {
    const headers = [
      { name: 'x-service-message-id', value: messageId },
      { name: 'X-Service-Org-Id', value: orgId },
    ]
    const { tags: _, ...untagged } = mail
    const { eventType: notificationType, ...rest } = delivery
    const feedback = { ...rest, notificationType, mail: { ...untagged, headers } }
    const { take } = intakeWith()
    expect(await take(signed(notification(feedback)))).toEqual({
      kind: 'notification',
      notifications: [delivered],
    })
    expect(await reportOf({ ...feedback, mail: untagged })).toBe('ignored')
  })

  test('with an invalid time uses the time of the notification', async () => {
    const timeless = { ...delivery, delivery: { ...delivery.delivery, timestamp: 'soon' } }
    expect(await reportOf(timeless)).toMatchObject([{ at: new Date('2026-11-15T10:00:00.000Z') }])
  })
})
