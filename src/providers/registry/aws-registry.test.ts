import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { campaignOf, completeBrand } from '../../../test/clients/sender-client.ts'
import { type EndUserMessaging, startEndUserMessaging } from '../../../test/servers/end-user-messaging.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeAwsRegistry } from './aws-registry.ts'
import type { RegistrationEntry, SmsRegistry } from './sms-registry.ts'

let wire: EndUserMessaging
let registry: SmsRegistry
let files: Record<string, Uint8Array>

beforeEach(async () => {
  wire = await startEndUserMessaging()
  useForm(...generalForm)
  files = {}
  registry = makeAwsRegistry({
    region: 'us-east-1',
    endpoint: wire.url,
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    timeouts: { connectMs: 1_000, responseMs: 2_000 },
    attempts: 1,
    log: silentLog(),
    fetchFile: async (url) => files[url],
    wait: async () => undefined,
  })
})
afterEach(async () => {
  await registry.close()
  await wire.stop()
})

const required = (path: string, more: object = {}) => ({
  SectionPath: path.split('.')[0],
  FieldPath: path,
  FieldType: 'TEXT',
  FieldRequirement: 'REQUIRED',
  ...more,
})
const choice = (path: string, ...Options: string[]) =>
  required(path, { FieldType: 'SELECT', SelectValidation: { Options } })

const optional = (...paths: string[]) => paths.map((path) => required(path, { FieldRequirement: 'OPTIONAL' }))
const optionalChoice = (...paths: string[]) =>
  paths.map((path) => required(path, { FieldRequirement: 'OPTIONAL', FieldType: 'SELECT' }))

/** The form of every registration, unless a test has its own. */
const generalForm = [
  ...optional('companyInfo.companyName', 'companyInfo.taxId', 'messageSamples.messageSample1'),
  ...optional('campaignInfo.campaignName', 'campaignInfo.optInWorkflow', 'campaignInfo.helpMessage'),
  ...optionalChoice('campaignUseCase.useCase', 'campaignUseCase.embeddedLink', 'campaignUseCase.ageGated'),
]
const useForm = (...fields: object[]) => {
  wire.fields.splice(0, wire.fields.length, ...(fields as Record<string, unknown>[]))
}

const brandForm = [
  required('companyInfo.companyName'),
  choice('companyInfo.legalType', 'PRIVATE_PROFIT', 'PUBLIC_PROFIT', 'NON_PROFIT', 'GOVERNMENT'),
  required('companyInfo.taxId'),
  required('companyInfo.stockSymbol', {
    FieldRequirement: 'CONDITIONAL',
    ConditionalBehavior: {
      DefaultBehavior: 'OPTIONAL',
      Rules: [
        {
          RuleBehavior: 'REQUIRED',
          Conditions: [{ DependsOnFieldPath: 'companyInfo.legalType', Operator: 'EQUALS', Values: ['PUBLIC_PROFIT'] }],
        },
      ],
    },
  }),
  choice('contactInfo.vertical', 'TECHNOLOGY', 'RETAIL'),
  required('contactInfo.website'),
]

const brand = (more: object = {}): RegistrationEntry => ({
  id: 'brd_1',
  environment: 'live',
  form: 'brand',
  fields: { ...completeBrand, ...more },
})
const campaign = (form: '10dlc' | 'tollfree', more: object = {}): RegistrationEntry => ({
  id: 'cmp_1',
  environment: 'live',
  form,
  fields: campaignOf('brd_1', { ...more, embedded_link: true }),
  brand: { providerId: 'registration-brand', fields: completeBrand },
})
const inputsOf = (operation: string) =>
  wire.calls.filter((one) => one.operation === operation).map(({ input }) => input)
const register = async (entry: RegistrationEntry) => {
  const providerId = await registry.open(entry)
  return { providerId, ...(await registry.submit(entry, providerId)) }
}
const registered = (id: string) => wire.registrations.get(id) as NonNullable<ReturnType<typeof wire.registrations.get>>

describe('brands', () => {
  test('S-271 A complete brand is filled in by the form of the registry and submitted', async () => {
    useForm(...brandForm)
    const { providerId, status, missing } = await register(brand())
    expect([status, missing]).toEqual(['SUBMITTED', []])
    expect(wire.calls[0]?.contentType).toBe('application/x-amz-json-1.0')
    expect(inputsOf('CreateRegistration')).toEqual([
      {
        RegistrationType: 'US_TEN_DLC_BRAND_REGISTRATION',
        ClientToken: 'brd_1',
        Tags: [{ Key: 'tidings-id', Value: 'brd_1' }],
      },
    ])
    expect(registered(providerId)).toMatchObject({
      status: 'SUBMITTED',
      values: {
        'companyInfo.companyName': 'Example Inc.',
        'companyInfo.legalType': ['PRIVATE_PROFIT'],
        'companyInfo.taxId': '123456789',
        'contactInfo.vertical': ['TECHNOLOGY'],
        'contactInfo.website': 'https://example.com',
      },
    })
    expect(wire.operations().at(-1)).toBe('SubmitRegistrationVersion')
  })

  test('S-270 S-272 Missing fields are named by the paths of the registry, and the draft stays', async () => {
    useForm(...brandForm)
    const { providerId, status, missing } = await register(brand({ entity_type: 'public_profit', ein: null }))
    expect([status, missing]).toEqual(['CREATED', ['companyInfo.taxId', 'companyInfo.stockSymbol']])
    expect(await registry.readRegistration({ id: 'brd_1', providerId })).toEqual({
      verdict: 'rejected',
      status: 'CREATED',
      reason: 'The registry did not accept the submission.',
    })
  })

  test('S-273 A form that cannot be read leaves the missing fields unknown', async () => {
    wire.faults.set('DescribeRegistrationFieldDefinitions', {
      type: 'InternalServerException',
      message: 'x',
      status: 500,
    })
    const { status, missing } = await register(brand())
    expect([status, missing]).toEqual(['SUBMITTED', null])
  })

  test('S-272 A value that the registry refuses counts as missing', async () => {
    useForm(required('contactInfo.website'))
    wire.faults.set('PutRegistrationFieldValue', { type: 'ValidationException', message: 'bad value' })
    expect((await register(brand())).missing).toEqual(['contactInfo.website'])
  })

  test('S-301 A repeated attempt opens the same registration, and does not submit it twice', async () => {
    useForm(...brandForm)
    const first = await register(brand())
    const again = await register(brand())
    expect(again).toEqual({ ...first, status: 'SUBMITTED', missing: [] })
    expect([wire.registrations.size, inputsOf('SubmitRegistrationVersion').length]).toEqual([1, 1])
  })
})

describe('campaigns', () => {
  test('S-281 S-284 S-285 A 10DLC campaign is associated with its brand before it is submitted', async () => {
    const { providerId, status } = await register(campaign('10dlc', { help_message: 'Write to us.' }))
    expect(status).toBe('SUBMITTED')
    expect(registered(providerId)).toMatchObject({
      type: 'US_TEN_DLC_CAMPAIGN_REGISTRATION',
      associations: ['registration-brand'],
      values: {
        'campaignInfo.campaignName': 'Order and delivery updates',
        'campaignInfo.optInWorkflow': 'Customers tick a box at checkout to get order updates by text.',
        'campaignInfo.helpMessage': 'Write to us.',
        'campaignUseCase.useCase': ['DELIVERY_NOTIFICATION'],
        'campaignUseCase.embeddedLink': ['YES'],
        'campaignUseCase.ageGated': ['NO'],
        'messageSamples.messageSample1': 'Your order 42 has shipped.',
      },
    })
    const order = wire.operations()
    expect(order.indexOf('CreateRegistrationAssociation')).toBeLessThan(order.indexOf('SubmitRegistrationVersion'))
  })

  test('S-286 The evidence of consent is uploaded and attached', async () => {
    const opt_in_evidence_url = 'https://example.com/consent.png'
    files[opt_in_evidence_url] = Buffer.from('image')
    useForm(required('messagingUseCase.optInImage', { FieldType: 'ATTACHMENT' }))
    const { providerId, missing } = await register(campaign('tollfree', { opt_in_evidence_url }))
    expect(missing).toEqual([])
    expect(inputsOf('CreateRegistrationAttachment')).toEqual([
      { AttachmentBody: Buffer.from('image').toString('base64'), ClientToken: expect.any(String) },
    ])
    expect(registered(providerId)).toMatchObject({
      type: 'US_TOLL_FREE_REGISTRATION',
      associations: [],
      values: { 'messagingUseCase.optInImage': 'attachment-1' },
    })
  })

  test('S-286 Evidence that cannot be fetched counts as missing', async () => {
    useForm(required('messagingUseCase.optInImage', { FieldType: 'ATTACHMENT' }))
    const entry = campaign('tollfree', { opt_in_evidence_url: 'https://example.com/gone.png' })
    expect((await register(entry)).missing).toEqual(['messagingUseCase.optInImage'])
  })
})

describe('corrections', () => {
  test('S-277 A denied brand gets a new version with every value', async () => {
    const { providerId } = await register(brand())
    Object.assign(registered(providerId), { status: 'REQUIRES_UPDATES', denied: { reasons: ['Wrong tax id.'] } })
    expect(await registry.correct(brand({ ein: '98-7654321' }), providerId)).toEqual({
      status: 'SUBMITTED',
      missing: [],
    })
    expect(registered(providerId)).toMatchObject({
      version: 2,
      status: 'SUBMITTED',
      values: { 'companyInfo.taxId': '987654321', 'companyInfo.companyName': 'Example Inc.' },
    })
  })

  test('S-277 The draft of an interrupted correction is completed', async () => {
    const { providerId } = await register(brand())
    registered(providerId).status = 'REQUIRES_UPDATES'
    wire.faults.set('SubmitRegistrationVersion', 'drop')
    await expect(registry.correct(brand(), providerId)).rejects.toMatchObject({ kind: 'unavailable' })
    wire.faults.clear()
    expect(await registry.correct(brand(), providerId)).toEqual({ status: 'SUBMITTED', missing: [] })
    expect(registered(providerId).version).toBe(2)
  })

  test('S-277 A draft that is in the way of a new version is discarded', async () => {
    const { providerId } = await register(brand())
    registered(providerId).status = 'REQUIRES_UPDATES'
    registered(providerId).draft = true
    expect(await registry.correct(brand(), providerId)).toEqual({ status: 'SUBMITTED', missing: [] })
    expect([registered(providerId).version, wire.operations()]).toEqual([
      2,
      expect.arrayContaining(['DiscardRegistrationVersion']),
    ])
  })

  test.each([
    'SUBMITTED',
    'REVIEWING',
    'AWS_REVIEWING',
    'PROVISIONING',
    'REQUIRES_AUTHENTICATION',
    'COMPLETE',
    'CLOSED',
  ])('S-278 A brand in the status %s takes no changes', async (status) => {
    const { providerId } = await register(brand())
    registered(providerId).status = status
    const before = wire.calls.length
    expect(await registry.correct(brand(), providerId)).toBeUndefined()
    expect(wire.operations().slice(before)).toEqual(['DescribeRegistrations'])
  })
})

describe('reports', () => {
  test.each([
    ['COMPLETE', 'approved', null],
    ['SUBMITTED', 'review', null],
    ['REVIEWING', 'review', null],
    ['PROVISIONING', 'review', null],
    ['REQUIRES_AUTHENTICATION', 'review', null],
    ['CLOSED', 'gone', 'The registry closed the registration.'],
    ['DELETED', 'gone', 'The registry no longer has it.'],
  ])('S-299 SD-79 The status %s is reported as %s', async (status, verdict, reason) => {
    const { providerId } = await register(brand())
    registered(providerId).status = status
    expect(await registry.readRegistration({ id: 'brd_1', providerId })).toEqual({ verdict, status, reason })
  })

  test('SD-80 A denial is reported with its reasons', async () => {
    const { providerId } = await register(brand())
    const denied = { reasons: ['The tax id is wrong.', 'The website is down.'], feedback: 'See the guide.' }
    Object.assign(registered(providerId), { status: 'REQUIRES_UPDATES', denied })
    expect(await registry.readRegistration({ id: 'brd_1', providerId })).toEqual({
      verdict: 'rejected',
      status: 'REQUIRES_UPDATES',
      reason: 'The tax id is wrong. The website is down. See the guide.',
    })
  })

  test('SD-79 What the registry does not have is gone', async () => {
    const ref = { id: 'x', providerId: 'nothing' }
    expect((await registry.readRegistration(ref)).verdict).toBe('gone')
    expect((await registry.readNumber(ref)).verdict).toBe('gone')
    await registry.removeRegistration(ref)
    await registry.release(ref)
  })

  test('A registration that cannot be deleted now is left behind', async () => {
    const { providerId } = await register(brand())
    wire.faults.set('DeleteRegistration', { type: 'ConflictException', message: 'Under review' })
    await registry.removeRegistration({ id: 'brd_1', providerId })
    expect(wire.registrations.has(providerId)).toBe(true)
  })
})

describe('numbers', () => {
  const request = {
    id: 'num_1',
    environment: 'live',
    type: 'longcode',
    isoCountry: 'US',
    campaign: { id: 'cmp_1', providerId: 'registration-campaign' },
    messageType: 'promotional',
  } as const

  test('S-297 A number is requested for its campaign once, read and released', async () => {
    const number = await registry.provision(request)
    expect(number).toEqual({
      providerId: expect.stringMatching(/^phone-/),
      e164: '+12065551000',
      status: 'PENDING',
      capabilities: ['sms', 'mms'],
    })
    expect(inputsOf('RequestPhoneNumber')[0]).toEqual({
      IsoCountryCode: 'US',
      MessageType: 'PROMOTIONAL',
      NumberCapabilities: ['SMS', 'MMS'],
      NumberType: 'TEN_DLC',
      RegistrationId: 'registration-campaign',
      ClientToken: 'num_1',
      Tags: [{ Key: 'tidings-id', Value: 'num_1' }],
    })
    expect(await registry.provision(request)).toEqual(number)
    const ref = { id: 'num_1', providerId: number.providerId }
    expect(await registry.readNumber(ref)).toEqual({ verdict: 'review', status: 'PENDING', reason: null })
    const held = wire.numbers.get(number.providerId)
    if (held) held.status = 'ACTIVE'
    expect(await registry.readNumber(ref)).toEqual({ verdict: 'approved', status: 'ACTIVE', reason: null })
    await registry.release(ref)
    expect(wire.numbers.size).toBe(0)
  })

  test('SD-78 A number moves to another campaign', async () => {
    const { providerId } = await register(campaign('10dlc'))
    await registry.bind({ id: 'num_1', providerId: 'phone-1' }, { id: 'cmp_1', providerId })
    expect(registered(providerId).associations).toContain('phone-1')
  })
})

describe('faults', () => {
  const ref = { id: 'x', providerId: 'registration-1' }
  const work: [operation: string, (registry: SmsRegistry) => Promise<unknown>][] = [
    ['CreateRegistration', (r) => r.open(brand())],
    ['DescribeRegistrations', (r) => r.submit(brand(), ref.providerId)],
    ['PutRegistrationFieldValue', (r) => r.open(brand()).then((id) => r.submit(brand(), id))],
    ['CreateRegistrationAssociation', (r) => r.open(campaign('10dlc')).then((id) => r.submit(campaign('10dlc'), id))],
    ['SubmitRegistrationVersion', (r) => r.open(brand()).then((id) => r.submit(brand(), id))],
    ['DescribeRegistrations', (r) => r.correct(brand(), ref.providerId)],
    ['DescribeRegistrations', (r) => r.readRegistration(ref)],
    ['DeleteRegistration', (r) => r.removeRegistration(ref)],
    ['CreateRegistrationAssociation', (r) => r.bind(ref, ref)],
    ['DescribePhoneNumbers', (r) => r.readNumber(ref)],
    ['ReleasePhoneNumber', (r) => r.release(ref)],
  ]
  const faults = {
    'drops the connection': 'drop',
    'has an internal error': { type: 'InternalServerException', message: 'secret detail', status: 500 },
    throttles: { type: 'ThrottlingException', message: 'slow down' },
    'denies access': { type: 'AccessDeniedException', message: 'arn:aws:iam::123456789012:user/secret' },
  } as const

  test.each(work.flatMap(([operation, run]) => Object.keys(faults).map((fault) => [operation, fault, run] as const)))(
    '%s that %s is unavailable, and no detail of the account is shown',
    async (operation, fault, run) => {
      wire.faults.set(operation, faults[fault as keyof typeof faults])
      await expect(run(registry)).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'AWS End User Messaging could not be reached or did not accept the request.',
      })
    },
  )
})
