/** A loopback server that simulates the registrations and numbers of AWS End User Messaging (JSON 1.0). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type WireCall = { operation: string; input: Record<string, unknown>; contentType: string | undefined }
type Values = Record<string, unknown>

export type WireRegistration = {
  type: string
  status: string
  version: number
  values: Values
  associations: string[]
  /** A draft that an interrupted correction left. */
  draft?: boolean
  denied?: { reasons: string[]; feedback?: string }
}

/** `drop` closes the connection without a response. A name is the type of the error that is returned. */
type Fault = 'drop' | { type: string; message: string; status?: number }

export type EndUserMessaging = {
  url: string
  calls: WireCall[]
  /** By operation. */
  faults: Map<string, Fault>
  registrations: Map<string, WireRegistration>
  numbers: Map<string, { e164: string; status: string; registration: unknown }>
  /** The definitions of every form. */
  fields: Values[]
  operations(): string[]
  stop(): Promise<void>
}

class WireFault extends Error {
  readonly type: string
  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

type State = Pick<EndUserMessaging, 'registrations' | 'numbers' | 'fields'> & { tokens: Map<string, string> }

const find = <T>(map: Map<string, T>, id: unknown): T => {
  const found = map.get(String(id))
  if (!found) throw new WireFault('ResourceNotFoundException', 'Resource not found')
  return found
}

/** The same token returns what the first call made. */
const makeOnce = (state: State, token: unknown, prefix: string, make: (id: string) => void): string => {
  const known = state.tokens.get(String(token))
  if (known) return known
  const id = `${prefix}-${state.tokens.size + 1}`
  state.tokens.set(String(token), id)
  make(id)
  return id
}

const shownRegistration = (id: string, { type, status, version, denied }: WireRegistration) => ({
  RegistrationArn: `arn:${id}`,
  RegistrationId: id,
  RegistrationType: type,
  RegistrationStatus: status,
  CurrentVersionNumber: version,
  ...(denied && { LatestDeniedVersionNumber: version }),
  CreatedTimestamp: 1_700_000_000,
})

const operations: Record<string, (state: State, input: Values) => Values> = {
  CreateRegistration: (state, { RegistrationType, ClientToken }) => {
    const id = makeOnce(state, ClientToken, 'registration', (made) => {
      const type = String(RegistrationType)
      state.registrations.set(made, { type, status: 'CREATED', version: 1, values: {}, associations: [] })
    })
    return shownRegistration(id, find(state.registrations, id))
  },
  DescribeRegistrationFieldDefinitions: ({ fields }, { NextToken }) => {
    const half = Math.ceil(fields.length / 2)
    if (NextToken) return { RegistrationFieldDefinitions: fields.slice(half) }
    return { RegistrationFieldDefinitions: fields.slice(0, half), NextToken: 'more' }
  },
  PutRegistrationFieldValue: ({ registrations }, { RegistrationId, FieldPath, ...value }) => {
    const registration = find(registrations, RegistrationId)
    if (registration.status !== 'CREATED') throw new WireFault('ConflictException', 'There is no draft')
    registration.values[String(FieldPath)] = Object.values(value)[0]
    return { RegistrationId, FieldPath, VersionNumber: registration.version }
  },
  CreateRegistrationAttachment: () => ({
    RegistrationAttachmentId: 'attachment-1',
    AttachmentStatus: 'UPLOAD_IN_PROGRESS',
  }),
  DescribeRegistrationAttachments: () => ({
    RegistrationAttachments: [{ RegistrationAttachmentId: 'attachment-1', AttachmentStatus: 'UPLOAD_COMPLETE' }],
  }),
  CreateRegistrationAssociation: ({ registrations }, { RegistrationId, ResourceId }) => {
    find(registrations, RegistrationId).associations.push(String(ResourceId))
    return { RegistrationId, ResourceId }
  },
  SubmitRegistrationVersion: ({ registrations, fields }, { RegistrationId }) => {
    const registration = find(registrations, RegistrationId)
    const lacks = fields.some(
      (one) => one.FieldRequirement === 'REQUIRED' && !(String(one.FieldPath) in registration.values),
    )
    if (lacks || registration.status !== 'CREATED') {
      throw new WireFault('ConflictException', 'SUBMIT_REGISTRATION_VERSION_NOT_ALLOWED')
    }
    registration.status = 'SUBMITTED'
    return { RegistrationId, VersionNumber: registration.version, RegistrationVersionStatus: 'SUBMITTED' }
  },
  DescribeRegistrations: ({ registrations }, { RegistrationIds }) => ({
    Registrations: (RegistrationIds as string[]).map((id) => shownRegistration(id, find(registrations, id))),
  }),
  DescribeRegistrationVersions: ({ registrations }, { RegistrationId, VersionNumbers }) => {
    const { denied } = find(registrations, RegistrationId)
    const reasons = denied?.reasons.map((text) => ({ Reason: 'R', ShortDescription: 'short', LongDescription: text }))
    const version = (VersionNumbers as number[])[0]
    return {
      RegistrationVersions: [
        {
          VersionNumber: version,
          RegistrationVersionStatus: 'DENIED',
          DeniedReasons: reasons,
          ...(denied?.feedback && { Feedback: denied.feedback }),
        },
      ],
    }
  },
  CreateRegistrationVersion: ({ registrations }, { RegistrationId }) => {
    const registration = find(registrations, RegistrationId)
    if (registration.draft || registration.status === 'CREATED') {
      throw new WireFault('ConflictException', 'There is a draft already')
    }
    Object.assign(registration, { status: 'CREATED', version: registration.version + 1, values: {} })
    return { RegistrationId, VersionNumber: registration.version, RegistrationVersionStatus: 'DRAFT' }
  },
  DiscardRegistrationVersion: ({ registrations }, { RegistrationId }) => {
    Object.assign(find(registrations, RegistrationId), { draft: false, values: {} })
    return { RegistrationId, RegistrationVersionStatus: 'DISCARDED' }
  },
  DeleteRegistration: ({ registrations }, { RegistrationId }) => {
    find(registrations, RegistrationId)
    registrations.delete(String(RegistrationId))
    return { RegistrationId }
  },
  RequestPhoneNumber: (state, { ClientToken, RegistrationId, NumberCapabilities }) => {
    const id = makeOnce(state, ClientToken, 'phone', (made) => {
      const e164 = `+1206555${String(1000 + state.numbers.size)}`
      state.numbers.set(made, { e164, status: 'PENDING', registration: RegistrationId })
    })
    const { e164, status } = find(state.numbers, id)
    return { PhoneNumberId: id, PhoneNumber: e164, Status: status, NumberCapabilities }
  },
  DescribePhoneNumbers: ({ numbers }, { PhoneNumberIds }) => ({
    PhoneNumbers: (PhoneNumberIds as string[]).map((id) => {
      const { e164, status } = find(numbers, id)
      return { PhoneNumberId: id, PhoneNumber: e164, Status: status }
    }),
  }),
  ReleasePhoneNumber: ({ numbers }, { PhoneNumberId }) => {
    find(numbers, PhoneNumberId)
    numbers.delete(String(PhoneNumberId))
    return { PhoneNumberId }
  },
}

type Answered = { status: number; body: Values }

const answer = (state: State, operation: string, input: Values): Answered => {
  try {
    const run = operations[operation]
    if (!run) throw new WireFault('UnknownOperationException', operation)
    return { status: 200, body: run(state, input) }
  } catch (error) {
    if (!(error instanceof WireFault)) throw error
    return { status: 400, body: { __type: error.type, Message: error.message } }
  }
}

export const startEndUserMessaging = async (): Promise<EndUserMessaging> => {
  const state: State = { registrations: new Map(), numbers: new Map(), fields: [], tokens: new Map() }
  const calls: WireCall[] = []
  const faults: EndUserMessaging['faults'] = new Map()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const operation = String(request.headers['x-amz-target']).split('.')[1] as string
    const input = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    calls.push({ operation, input, contentType: request.headers['content-type'] })
    const fault = faults.get(operation)
    if (fault === 'drop') return void request.socket.destroy()
    const { status, body } = fault
      ? { status: fault.status ?? 400, body: { __type: fault.type, Message: fault.message } }
      : answer(state, operation, input)
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    faults,
    registrations: state.registrations,
    numbers: state.numbers,
    fields: state.fields,
    operations: () => calls.map(({ operation }) => operation),
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
