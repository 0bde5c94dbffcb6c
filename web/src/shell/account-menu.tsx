import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { LogOut, Moon, UserRound } from 'lucide-react'
import { api } from '../api/client.ts'
import { useUser } from '../api/session.ts'
import { pageOf } from '../pages/registry.ts'
import { shell } from '../strings/shell.ts'
import { Menu } from '../ui/menu.tsx'
import { setTheme, type Theme, useTheme } from '../ui/theme.ts'

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

export const useSignOut = () => {
  const client = useQueryClient()
  return async (): Promise<void> => {
    await api.POST('/api/auth/logout')
    client.clear()
    // A whole load: nothing of the former person stays in memory.
    location.assign('/login')
  }
}

export const AccountMenu = () => {
  const user = useUser()
  const theme = useTheme()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const profile = pageOf('profile') ?? pageOf('password')
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={`${shell.accountMenu}: ${user.name}`}
          className="flex h-10 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-hover"
        >
          <span
            aria-hidden
            className="flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-soft font-medium text-accent text-xs"
          >
            <UserRound className="size-3.5" />
          </span>
          <span className="min-w-0 flex-1 truncate text-sm">{user.name}</span>
        </button>
      }
      items={[
        ...(profile
          ? [
              {
                label: shell.accountMenu,
                icon: <UserRound aria-hidden className="size-4" />,
                onSelect: () => void navigate({ to: profile.path }),
              },
            ]
          : []),
        {
          label: shell.theme[theme],
          icon: <Moon aria-hidden className="size-4" />,
          onSelect: () => setTheme(next[theme]),
        },
        'separator' as const,
        { label: shell.signOut, icon: <LogOut aria-hidden className="size-4" />, onSelect: () => void signOut() },
      ]}
    />
  )
}
