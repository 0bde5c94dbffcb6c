import { shell } from '../strings/shell.ts'
import { Dialog } from '../ui/dialog.tsx'
import { jumps } from './use-shortcuts.ts'

const Keys = ({ keys }: { keys: string }) => (
  <span className="flex gap-1">
    {keys.split(' ').map((key) => (
      <kbd key={key} className="min-w-5 rounded-sm border bg-surface px-1 text-center font-mono text-xs">
        {key}
      </kbd>
    ))}
  </span>
)

const general = [
  { keys: '⌘ K', label: shell.keysPalette },
  { keys: '/', label: shell.keysSearch },
  { keys: '?', label: shell.keysHelp },
  { keys: 'Esc', label: shell.keysClose },
]

const KeyHelp = ({ onClose }: { onClose: () => void }) => (
  <Dialog open onClose={onClose} title={shell.keys}>
    <ul className="flex flex-col gap-1.5 text-sm">
      {[...general, ...jumps().map(({ keys, label }) => ({ keys: `g ${keys}`, label }))].map(({ keys, label }) => (
        <li key={keys} className="flex items-center justify-between gap-4">
          <span>{label}</span>
          <Keys keys={keys} />
        </li>
      ))}
    </ul>
  </Dialog>
)

export default KeyHelp
