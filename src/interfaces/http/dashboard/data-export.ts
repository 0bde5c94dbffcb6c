import type { PersonalExport } from '../../exports/personal-export.ts'
import { downloadHeaders } from '../download-headers.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'

export const dataExportRoutes = ({ exportOwnData }: { exportOwnData: PersonalExport }): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/user/data-export',
    gate: 'requireUserSession',
    ownFactors: true,
    responses: { 200: 'file' },
    handle: async (call) => {
      const contentType = 'application/json'
      const content = await exportOwnData(userActor(call), call.session.orgId)
      const headers = downloadHeaders({ filename: 'data-export.json', type: contentType })
      return { status: 200, headers, file: { contentType, content } }
    },
  }),
]
