/** /api/internal/phone-numbers: numbers and sender ids. */
import type { AddPhoneNumber, RebindNumber, ReleaseNumber } from '../../../senders/sms/phone-numbers/manage-numbers.ts'
import { CreatePhoneNumber, PatchPhoneNumber } from '../../../senders/sms/phone-numbers/shapes.ts'
import type { ReadNumbers } from '../../../senders/sms/registration/read-registrations.ts'
import type { DashboardRoute } from '../route.ts'
import { phoneNumbers } from '../shown-resources.ts'
import { environmentFilter, oneOrListQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/phone-numbers'

const routes = memberRoutes(phoneNumbers, { path, write: 'requireDeveloperSession' })

type Needs = { read: ReadNumbers; add: AddPhoneNumber; rebind: RebindNumber; release: ReleaseNumber }

export const dashboardNumberRoutes = ({ read, add, rebind, release }: Needs): DashboardRoute[] => [
  routes.oneOrList({
    query: oneOrListQuery.extend({ environment: environmentFilter, tenant_id: tenantFilter }),
    get: read.get,
    list: (of, query) => read.listOwn({ ...of, environment: query.environment ?? null }, query),
  }),
  routes.create({ body: CreatePhoneNumber, action: add }),
  routes.change({
    body: PatchPhoneNumber,
    action: (scope, _actor, id, body) => rebind(scope, id, body.campaign_id as string),
  }),
  routes.remove({ action: release }),
]
