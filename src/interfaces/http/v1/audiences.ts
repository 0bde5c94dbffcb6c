import type { ManageAudiences } from '../../../recipients/audiences/manage-audiences.ts'
import { CreateAudience } from '../../../recipients/audiences/shapes.ts'
import type { SendToAudience } from '../../../sending/blasts/send-to-audience.ts'
import { AudienceSent, SendAudienceBody } from '../../../sending/blasts/shapes.ts'
import { maxVariableValues } from '../../../sending/templates/variables.ts'
import { actorOf } from '../actor.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { audiences } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const routes = publicRoutes(audiences, {
  tag: 'Audiences',
  path: '/audiences',
  name: 'Audience',
  read: byKey('read:audiences'),
  write: byKey('write:audiences'),
})

export const audienceRoutes = ({ manage }: { manage: ManageAudiences }): PublicRoute[] => [
  routes.create({
    body: CreateAudience,
    response: 'The new audience, without members.',
    errors: ['PLAN_RESOURCE_LIMIT', 'AUDIENCE_SLUG_TAKEN', 'TENANT_ERASED'],
    action: manage.create,
  }),
  routes.list({ action: manage.list }),
  routes.get({ action: manage.get }),
  routes.remove({
    description:
      'Its contacts stay. Messages to the audience that are already scheduled are still sent; cancel the job to stop them.',
    action: manage.remove,
  }),
]

export const audienceSendRoutes = ({ send }: { send: SendToAudience }): PublicRoute[] => [
  defineRoute('POST', '/audiences/{id}/send', byKey('write:audiences'), {
    params: { id: 'audience' },
    tag: 'Jobs',
    operationId: 'sendToAudience',
    summary: 'Send a template to an audience',
    description:
      'Renders the template for every member and schedules one message for each, up to 10,000. The messages belong to a job, which you can watch and cancel. Use an `Idempotency-Key`, so that a repeated request does not send twice. If scheduling stops part way, the response is 500 `AUDIENCE_SEND_INCOMPLETE` with the job in `error.job_id`.',
    body: SendAudienceBody,
    bounds: { elements: maxVariableValues, values: maxVariableValues + 100 },
    responses: { 200: { schema: AudienceSent, description: 'The messages are scheduled.' } },
    errors: [
      'NOT_FOUND',
      'TENANT_FORBIDDEN',
      'TENANT_NOT_USABLE',
      'AUDIENCE_TOO_LARGE',
      'SCHEDULED_AT_IN_PAST',
      'SCHEDULED_AT_TOO_FAR',
      'TEMPLATE_TENANT_SCOPED',
      'TEMPLATE_MISSING_VARIABLES',
      'INVALID_FROM',
      'SENDER_DOMAIN_NOT_VERIFIED',
      'DOMAIN_TENANT_MISMATCH',
      'DOMAIN_NOT_ALLOWED_FOR_KEY',
      'SENDER_NOT_REGISTERED',
      'SENDER_NOT_VERIFIED',
      'SANDBOX_RECIPIENT_NOT_ALLOWED',
      'HIGH_COST_DESTINATION',
      'SMS_DESTINATION_NOT_ALLOWED',
      'DLT_TEMPLATE_REQUIRED',
      'DLT_TEMPLATE_NOT_FOUND',
      'DLT_TEMPLATE_NOT_APPROVED',
      'DLT_TEMPLATE_NOT_PROVISIONED',
      'USAGE_LIMIT_EXCEEDED',
      'TENANT_QUOTA_EXCEEDED',
      'TEST_DAILY_LIMIT',
      'PAYLOAD_TOO_LARGE',
      'AUDIENCE_SEND_INCOMPLETE',
    ],
    idempotent: true,
    handle: async (call) => {
      const { caller, body, params, claim } = call
      const tenantBound = caller.tenantState !== undefined
      const request = { audienceId: params.id, body, actor: actorOf(call), claim }
      return { status: 200, body: await send({ ...caller, tenantBound }, request), recorded: true }
    },
  }),
]
