import type { ComponentProps, ReactNode } from 'react'

type Props = Omit<ComponentProps<'input'>, 'type' | 'onChange'> & {
  label: ReactNode
  onChecked?: (checked: boolean) => void
}

export const Checkbox = ({ label, onChecked, ...props }: Props) => (
  <label className="flex items-start gap-2 text-sm">
    <input
      type="checkbox"
      {...props}
      onChange={(event) => onChecked?.(event.target.checked)}
      className="mt-0.5 size-4 shrink-0 accent-accent-solid"
    />
    <span>{label}</span>
  </label>
)
