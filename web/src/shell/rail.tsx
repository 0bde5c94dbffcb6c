import { Link, useMatches } from '@tanstack/react-router'
import {
  BarChart3,
  Building2,
  Code2,
  FileText,
  FolderKanban,
  House,
  type LucideIcon,
  Mail,
  Send,
  Settings,
  ShieldBan,
  UserRound,
  Users,
} from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useDevTools } from '../api/use-dev-tools.ts'
import { type RailEntry, type RailGroup, type RailId, railEntries } from '../pages/rail-map.ts'
import { pageOf } from '../pages/registry.ts'
import { shell } from '../strings/shell.ts'
import { Tooltip } from '../ui/tooltip.tsx'

const icons: Record<RailGroup, LucideIcon> = {
  overview: House,
  messages: Mail,
  templates: FileText,
  audiences: Users,
  analytics: BarChart3,
  senders: Send,
  suppressions: ShieldBan,
  developers: Code2,
  tenants: Building2,
  projects: FolderKanban,
  settings: Settings,
  personal: UserRound,
}

const linkClasses =
  'flex h-8 items-center gap-2 rounded-md px-2 text-sm text-muted hover:bg-hover hover:text-text aria-[current=page]:bg-selected aria-[current=page]:font-medium aria-[current=page]:text-text'

const useOpenEntry = (): RailId | undefined => {
  const page = useMatches().at(-1)?.staticData.page
  return page?.rail ?? page?.within
}

/** Only entries that a page names. Nothing in the rail leads nowhere. */
export const useEntries = (): RailEntry[] => {
  const tools = useDevTools()
  const leadsTo = ({ id }: RailEntry): boolean => {
    const page = pageOf(id)
    return page !== undefined && (tools || !page.development)
  }
  return railEntries()
    .map((entry) => ({ ...entry, children: entry.children.filter(leadsTo) }))
    .filter((entry) => leadsTo(entry) || entry.children.length > 0)
}

const EntryLink = ({ entry, open, nested }: { entry: RailEntry; open: boolean; nested?: boolean }) => {
  const Icon = icons[entry.id as RailGroup]
  const link = useRef<HTMLAnchorElement>(null)
  const tools = useDevTools()
  // The rail can be longer than the screen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rail grows when the entries of the tools arrive
  useEffect(() => {
    if (open) link.current?.scrollIntoView({ block: 'nearest' })
  }, [open, tools])
  return (
    <Link
      ref={link}
      to={pageOf(entry.id)?.path as string}
      aria-current={open ? 'page' : undefined}
      activeProps={{}}
      className={`${linkClasses} scroll-my-20 ${nested ? 'pl-8' : ''}`}
    >
      {Icon && <Icon aria-hidden className="size-4 shrink-0" />}
      <span className="truncate">{entry.label}</span>
    </Link>
  )
}

const Group = ({ entry, openId }: { entry: RailEntry; openId: RailId | undefined }) => {
  const Icon = icons[entry.id as RailGroup]
  return (
    <li>
      <div className="mt-3 flex h-7 items-center gap-2 px-2 font-medium text-faint text-xs">
        <Icon aria-hidden className="size-3.5" />
        {entry.label}
      </div>
      <ul>
        {entry.children.map((child) => (
          <li key={child.id}>
            <EntryLink entry={child} open={child.id === openId} nested />
          </li>
        ))}
      </ul>
    </li>
  )
}

/** The rail as icons. A group leads to its first page. */
export const IconRail = () => {
  const openId = useOpenEntry()
  return (
    <nav aria-label={shell.navigation} className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
      <ul className="flex flex-col gap-px">
        {useEntries().map((entry) => {
          const Icon = icons[entry.id as RailGroup]
          const target = entry.children[0] ?? entry
          const open = [entry, ...entry.children].some(({ id }) => id === openId)
          return (
            <li key={entry.id}>
              <Tooltip text={entry.label}>
                <Link
                  to={pageOf(target.id)?.path as string}
                  aria-label={entry.label}
                  aria-current={open ? 'page' : undefined}
                  activeProps={{}}
                  className={`${linkClasses} justify-center`}
                >
                  <Icon aria-hidden className="size-4 shrink-0" />
                </Link>
              </Tooltip>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}

export const Rail = () => {
  const openId = useOpenEntry()
  const entries = useEntries()
  return (
    <nav aria-label={shell.navigation} className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
      <ul className="flex flex-col gap-px">
        {entries.map((entry) =>
          entry.children.length > 0 ? (
            <Group key={entry.id} entry={entry} openId={openId} />
          ) : (
            <li key={entry.id}>
              <EntryLink entry={entry} open={entry.id === openId} />
            </li>
          ),
        )}
      </ul>
    </nav>
  )
}
