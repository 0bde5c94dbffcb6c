import type { PersonalExport } from '../../../reports/exports/personal-export.ts'
import { userActor } from '../actor.ts'
import { downloadHeaders } from '../download-headers.ts'
import { type DashboardRoute, defineRoute } from '../route.ts'
import { bySession } from '../route-access.ts'

export const dataExportRoutes = ({ exportOwnData }: { exportOwnData: PersonalExport }): DashboardRoute[] => [
  defineRoute('POST', '/api/internal/user/data-export', bySession('requireUserSession', { ownFactors: true }), {
    responses: { 200: 'file' },
    handle: async (call) => {
      const contentType = 'application/json'
      const content = await exportOwnData(userActor(call), call.session.orgId)
      const headers = downloadHeaders({ filename: 'data-export.json', type: contentType })
      return { status: 200, headers, file: { contentType, content } }
    },
  }),
]
