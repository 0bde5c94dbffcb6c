import { Switch as Base } from '@base-ui/react/switch'
import { type ReactNode, useId } from 'react'

type Props = {
  label: ReactNode
  help?: ReactNode
  checked: boolean
  disabled?: boolean
  onChecked: (checked: boolean) => void
}

export const Switch = ({ label, help, checked, disabled, onChecked }: Props) => {
  const id = useId()
  return (
    <div className="flex items-start justify-between gap-4">
      <div>
        <div id={id} className="font-medium text-sm">
          {label}
        </div>
        {help && <p className="text-muted text-xs">{help}</p>}
      </div>
      <Base.Root
        checked={checked}
        disabled={disabled}
        onCheckedChange={onChecked}
        aria-labelledby={id}
        className="relative mt-0.5 h-5 w-9 shrink-0 rounded-full border border-line-strong bg-selected data-[checked]:border-transparent data-[checked]:bg-accent-solid data-[disabled]:opacity-50"
      >
        <Base.Thumb className="block size-4 translate-x-0.5 rounded-full bg-white shadow transition-transform duration-100 data-[checked]:translate-x-[17px]" />
      </Base.Root>
    </div>
  )
}
