import type { ReactNode } from 'react'
import { Checkbox } from './checkbox.tsx'

type Choice = { value: string; label: ReactNode }

type Props = {
  legend: ReactNode
  choices: readonly Choice[]
  value: readonly string[]
  onValue: (value: string[]) => void
  help?: ReactNode
  error?: string | undefined
}

/** Several things to choose from, in columns. */
export const CheckGroup = ({ legend, choices, value, onValue, help, error }: Props) => (
  <fieldset className="flex min-w-0 flex-col gap-1.5">
    <legend className="mb-1 font-medium text-sm">{legend}</legend>
    <div className="grid grid-cols-1 gap-x-4 gap-y-1.5 sm:grid-cols-2">
      {choices.map((choice) => (
        <Checkbox
          key={choice.value}
          label={choice.label}
          checked={value.includes(choice.value)}
          onChecked={(on) => onValue(on ? [...value, choice.value] : value.filter((one) => one !== choice.value))}
        />
      ))}
    </div>
    {error && (
      <p role="alert" className="text-bad text-sm">
        {error}
      </p>
    )}
    {help && <p className="text-muted text-xs">{help}</p>}
  </fieldset>
)

/** One of a few things. */
export const RadioGroup = ({
  legend,
  choices,
  value,
  onValue,
}: Omit<Props, 'value' | 'onValue'> & {
  value: string
  onValue: (value: string) => void
}) => (
  <fieldset className="flex flex-col gap-1.5">
    <legend className="mb-1 font-medium text-sm">{legend}</legend>
    <div className="flex flex-wrap gap-x-5 gap-y-1.5">
      {choices.map((choice) => (
        <label key={choice.value} className="flex items-center gap-2 text-sm">
          <input
            type="radio"
            checked={choice.value === value}
            onChange={() => onValue(choice.value)}
            className="size-4 shrink-0 accent-accent-solid"
          />
          {choice.label}
        </label>
      ))}
    </div>
  </fieldset>
)
