import { unavailable } from '../../../platform/db/refuse-in-outage.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { CheckCodeOf } from '../../../sending/verifications/check-code.ts'
import {
  CheckCode,
  CheckedVerification,
  StartedVerification,
  StartVerification,
} from '../../../sending/verifications/shapes.ts'
import type { StartCode } from '../../../sending/verifications/start.ts'
import { created, ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'

const startErrors = [
  'NO_SENDER',
  'UNDELIVERABLE_DESTINATION',
  'HIGH_COST_DESTINATION',
  'SMS_DESTINATION_NOT_ALLOWED',
  'DLT_TEMPLATE_REQUIRED',
  'DLT_TEMPLATE_NOT_FOUND',
  'DLT_TEMPLATE_NOT_APPROVED',
  'DLT_TEMPLATE_NOT_PROVISIONED',
  'SENDER_NOT_REGISTERED',
  'SENDER_NOT_VERIFIED',
  'INVALID_FROM',
  'SENDER_DOMAIN_NOT_VERIFIED',
  'SANDBOX_RECIPIENT_NOT_ALLOWED',
  'SANDBOX_DAILY_LIMIT',
  'WARMUP_LIMIT_EXCEEDED',
  'SEND_FAILED',
  'UNAVAILABLE',
] as const

const notRecorded = (cause?: unknown): Failure =>
  unavailable(cause, {
    message: 'The request could not be recorded. Retry it; a code that was already sent remains valid.',
  })

type Needs = { start: StartCode; check: CheckCodeOf }

export const verificationRoutes = ({ start, check }: Needs): PublicRoute[] => [
  defineRoute('POST', '/verifications', byKey('write:verifications'), {
    operationId: 'startVerification',
    tag: 'Verifications',
    summary: 'Send a one-time code',
    description:
      'Sends a new code. To send it again, start a second verification: it has its own id and code, and the first one stays valid until it is used, expires or runs out of attempts. Use a new `Idempotency-Key` for every code that a person requests, never one per user or destination: a repeated key returns the first verification and sends nothing. At most five codes per destination and 1,000 per organisation are started in an hour.',
    idempotent: true,
    databaseFault: notRecorded,
    body: StartVerification,
    check: ({ body }) => {
      if (!body.from) throw new Failure('NO_SENDER')
    },
    responses: { 201: { schema: StartedVerification, description: 'The code was sent.' } },
    errors: startErrors,
    handle: async ({ caller, body, claim }) => created(await start(caller, body, claim)),
  }),
  defineRoute('POST', '/verifications/{id}/check', byKey('write:verifications'), {
    operationId: 'checkVerification',
    tag: 'Verifications',
    summary: 'Check a one-time code',
    description:
      'Compares the code that a person entered with the one that was sent. A wrong code spends one attempt, the right code none. The right code is approved once. A test key can check only verifications of test keys. After a 503 no attempt is spent, and you can check the code again.',
    params: { id: 'verification' },
    anyId: true,
    databaseFault: notRecorded,
    body: CheckCode,
    responses: { 200: { schema: CheckedVerification, description: 'The code was checked.' } },
    errors: ['UNAVAILABLE'],
    handle: async ({ caller, params, body }) => ok(await check(caller, params.id, body.code)),
  }),
]
