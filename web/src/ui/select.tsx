import { ChevronDown } from 'lucide-react'
import type { ComponentProps } from 'react'
import { classes } from './classes.ts'
import { controlClasses } from './input.tsx'

export type Option = { value: string; label: string; disabled?: boolean }

export const optionsOf = (labels: Record<string, string>): Option[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

type Props = Omit<ComponentProps<'select'>, 'onChange'> & {
  options: readonly Option[]
  onValue?: (value: string) => void
}

/** The browser's own list: it works with every keyboard, screen reader and phone. */
export const Select = ({ options, onValue, className, ...props }: Props) => (
  <span className={classes('relative inline-flex', className)}>
    <select
      {...props}
      onChange={(event) => onValue?.(event.target.value)}
      className={classes(controlClasses, 'h-8 appearance-none pr-7')}
    >
      {options.map(({ value, label, disabled }) => (
        <option key={value} value={value} disabled={disabled}>
          {label}
        </option>
      ))}
    </select>
    <ChevronDown aria-hidden className="pointer-events-none absolute top-2 right-2 size-4 text-faint" />
  </span>
)
