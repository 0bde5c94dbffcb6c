import { PanelLeftClose, PanelLeftOpen, Search } from 'lucide-react'
import { setMode, useMode } from '../api/mode.ts'
import { shell } from '../strings/shell.ts'
import { IconButton } from '../ui/button.tsx'
import { AccountMenu } from './account-menu.tsx'
import { ModeSwitch } from './mode-switch.tsx'
import { OrgSwitcher } from './org-switcher.tsx'
import { IconRail, Rail } from './rail.tsx'

type PanelProps = { onSearch: () => void; onCollapse?: () => void }

/** The organisation, the search, the mode and the rail. */
export const SidePanel = ({ onSearch, onCollapse }: PanelProps) => (
  <>
    <div className="flex items-center gap-1 px-3 pt-3">
      <OrgSwitcher />
    </div>
    <div className="px-3 pt-2 pb-2">
      <button
        type="button"
        onClick={onSearch}
        className="flex h-8 w-full items-center gap-2 rounded-md border bg-canvas px-2 text-faint text-sm hover:border-line-strong"
      >
        <Search aria-hidden className="size-4" />
        <span className="flex-1 truncate text-left">{shell.find}</span>
        <kbd className="rounded-sm border px-1 text-xs">⌘K</kbd>
      </button>
    </div>
    <ModeSwitch />
    <div className="h-3" />
    <Rail />
    <div className="flex items-center gap-1 border-t p-2">
      <div className="min-w-0 flex-1">
        <AccountMenu />
      </div>
      {onCollapse && (
        <IconButton
          label={shell.collapse}
          icon={<PanelLeftClose aria-hidden className="size-4" />}
          onClick={onCollapse}
        />
      )}
    </div>
  </>
)

/** The same as icons, for more space on the page. The organisation is switched in the command palette. */
export const IconPanel = ({ onSearch, onExpand }: { onSearch: () => void; onExpand: () => void }) => {
  const mode = useMode()
  const other = mode === 'live' ? 'test' : 'live'
  return (
    <>
      <div className="flex flex-col items-center gap-1 px-2 pt-3 pb-2">
        <IconButton label={shell.expand} icon={<PanelLeftOpen aria-hidden className="size-4" />} onClick={onExpand} />
        <IconButton label={shell.find} icon={<Search aria-hidden className="size-4" />} onClick={onSearch} />
        <button
          type="button"
          aria-label={`${shell[mode]}. ${shell.switchTo(shell[other])}`}
          onClick={() => setMode(other)}
          className={`h-6 w-10 rounded-md border font-medium text-xs ${mode === 'test' ? 'bg-test text-test-text' : 'bg-canvas text-muted'}`}
        >
          {shell[mode]}
        </button>
      </div>
      <IconRail />
      <div className="overflow-hidden border-t p-2">
        <AccountMenu />
      </div>
    </>
  )
}
