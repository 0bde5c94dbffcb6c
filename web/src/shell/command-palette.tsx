import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { setMode, useMode } from '../api/mode.ts'
import { useOrg, useSession } from '../api/session.ts'
import { pageOf } from '../pages/registry.ts'
import { messages } from '../strings/messages.ts'
import { shell } from '../strings/shell.ts'
import { setTheme } from '../ui/theme.ts'
import { findMessages } from './find-messages.ts'
import { useSwitchOrg } from './org-switcher.tsx'
import { useEntries } from './rail.tsx'

type Command = { id: string; group: string; label: string; hint?: string; run: () => void | Promise<void> }

type Props = { onClose: () => void; onHelp: () => void }

const useOwnCommands = ({ onHelp }: Props): Command[] => {
  const navigate = useNavigate()
  const switchOrg = useSwitchOrg()
  const mode = useMode()
  const org = useOrg()
  const { orgs = [] } = useSession()
  const pages = useEntries().flatMap((entry) => (entry.children.length > 0 ? entry.children : [entry]))
  const other = mode === 'live' ? 'test' : 'live'
  return [
    ...pages.map(({ id, label, keys }) => ({
      id,
      group: shell.goTo,
      label,
      ...(keys && { hint: `g ${keys}` }),
      run: () => navigate({ to: pageOf(id)?.path as string }),
    })),
    ...orgs
      .filter(({ id }) => id !== org?.id)
      .map(({ id, name }) => ({ id, group: shell.organisation, label: name, run: () => switchOrg(id) })),
    { id: 'mode', group: shell.commands, label: shell.switchTo(other), run: () => setMode(other) },
    ...(['light', 'dark', 'system'] as const).map((theme) => ({
      id: `theme-${theme}`,
      group: shell.commands,
      label: shell.theme[theme],
      run: () => setTheme(theme),
    })),
    { id: 'keys', group: shell.commands, label: shell.keys, hint: '?', run: onHelp },
  ]
}

const useFound = (typed: string): Command[] => {
  const navigate = useNavigate()
  const found = findMessages(typed.trim())
  if (!found) return []
  const { search, ...shown } = found
  return [{ ...shown, group: messages.findGroup, run: () => navigate({ to: '/messages', search }) }]
}

const matches = (label: string, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => label.toLowerCase().includes(word))

const optionId = (index: number): string => `command-${index}`

const CommandPalette = (props: Props) => {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const own = useOwnCommands(props)
  const found = useFound(typed)
  const shown = [...found, ...own.filter(({ label }) => matches(label, typed))]
  const current = Math.min(at, shown.length - 1)
  const run = (command: Command | undefined): void => {
    if (!command) return
    props.onClose()
    void command.run()
  }
  const move = (step: number): void => {
    const next = (current + step + shown.length) % Math.max(shown.length, 1)
    setAt(next)
    list.current?.querySelector(`#${optionId(next)}`)?.scrollIntoView({ block: 'nearest' })
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && props.onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fade fixed inset-0 z-40 bg-black/40" />
        <Dialog.Popup className="fade fixed top-[12vh] left-1/2 z-40 w-[calc(100vw-32px)] max-w-xl -translate-x-1/2 overflow-hidden rounded-md border bg-raised shadow-xl">
          <Dialog.Title className="sr-only">{shell.find}</Dialog.Title>
          <input
            role="combobox"
            aria-label={shell.find}
            aria-expanded
            aria-controls="commands"
            aria-activedescendant={shown.length > 0 ? optionId(current) : undefined}
            placeholder={shell.find}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value)
              setAt(0)
            }}
            onKeyDown={(event) => {
              if (event.key === 'ArrowDown') move(1)
              else if (event.key === 'ArrowUp') move(-1)
              else if (event.key === 'Enter') run(shown[current])
              else return
              event.preventDefault()
            }}
            className="h-11 w-full border-b bg-transparent px-4 text-base outline-none"
          />
          <div
            ref={list}
            id="commands"
            role="listbox"
            aria-label={shell.commands}
            className="max-h-80 overflow-auto p-1"
          >
            {shown.map((command, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys of the list
              // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the input, which names the active option
              <div
                key={command.group + command.id}
                id={optionId(index)}
                role="option"
                aria-selected={index === current}
                onClick={() => run(command)}
                onMouseMove={() => setAt(index)}
                className="flex h-9 cursor-default items-center gap-3 rounded-sm px-3 text-sm aria-selected:bg-hover"
              >
                <span className="min-w-0 flex-1 truncate">{command.label}</span>
                <span className="text-faint text-xs">{command.hint ?? command.group}</span>
              </div>
            ))}
          </div>
          {shown.length === 0 && <p className="px-4 pb-4 text-muted text-sm">{shell.noCommand}</p>}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

export default CommandPalette
