import { type Mode, setMode, useMode } from '../api/mode.ts'
import { shell } from '../strings/shell.ts'

const modes: readonly Mode[] = ['live', 'test']

export const ModeSwitch = () => {
  const mode = useMode()
  return (
    <fieldset className="mx-3 grid grid-cols-2 rounded-md border bg-canvas p-0.5">
      <legend className="sr-only">{shell.environment}</legend>
      {modes.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={mode === one}
          onClick={() => setMode(one)}
          className={`h-6 rounded-sm font-medium text-muted text-xs aria-pressed:text-text ${
            one === 'test' ? 'aria-pressed:bg-test aria-pressed:text-test-text' : 'aria-pressed:bg-selected'
          }`}
        >
          {shell[one]}
        </button>
      ))}
    </fieldset>
  )
}
