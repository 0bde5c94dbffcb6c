import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Check, ChevronsUpDown, Plus } from 'lucide-react'
import { ApiError } from '../api/api-error.ts'
import { api, unwrap } from '../api/client.ts'
import { useOrg, useSession } from '../api/session.ts'
import { shell } from '../strings/shell.ts'
import { Menu } from '../ui/menu.tsx'
import { toastError } from '../ui/toasts.tsx'
import { showRefusedOrg } from './refused-org.ts'

export const useSwitchOrg = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const { orgs = [] } = useSession()
  return async (orgId: string): Promise<void> => {
    try {
      await unwrap(api.POST('/api/internal/org/switch', { body: { org_id: orgId } }))
      // Everything on the screen belongs to the former org.
      await navigate({ to: '/' })
      await client.resetQueries()
    } catch (error) {
      const name = orgs.find(({ id }) => id === orgId)?.name ?? ''
      if (error instanceof ApiError && error.code === 'SSO_REQUIRED') showRefusedOrg({ id: orgId, name, error })
      // A person who closed the question for the password knows why nothing happens.
      else if (!(error instanceof ApiError && error.code === 'STEP_UP_REQUIRED')) toastError(error)
    }
  }
}

export const OrgSwitcher = () => {
  const { orgs = [], closed_org: closed } = useSession()
  const org = useOrg() ?? closed
  const switchOrg = useSwitchOrg()
  const navigate = useNavigate()
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={`${shell.organisation}: ${org?.name ?? '–'}`}
          className="flex h-8 min-w-0 flex-1 items-center gap-2 rounded-md px-2 text-left font-medium text-sm hover:bg-hover"
        >
          <span className="min-w-0 flex-1 truncate">{org?.name ?? shell.product}</span>
          <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-faint" />
        </button>
      }
      items={[
        ...orgs.map(({ id, name, role }) => ({
          label: name,
          hint: id === org?.id ? <Check aria-hidden className="size-4" /> : role,
          onSelect: () => void (id !== org?.id && switchOrg(id)),
        })),
        'separator' as const,
        {
          label: shell.createOrg,
          icon: <Plus aria-hidden className="size-4" />,
          onSelect: () => void navigate({ to: '/orgs/new' }),
        },
      ]}
    />
  )
}
