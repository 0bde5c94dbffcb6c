import { LoaderCircle, Plus } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { type Gate, useRefusal } from '../api/can.ts'
import { classes } from './classes.ts'
import { Tooltip } from './tooltip.tsx'

type Look = 'primary' | 'secondary' | 'quiet' | 'danger'

const looks: Record<Look, string> = {
  primary: 'bg-accent-solid text-white hover:bg-accent-solid-hover border-transparent',
  secondary: 'bg-raised text-text border-line-strong hover:bg-hover',
  quiet: 'bg-transparent text-muted border-transparent hover:bg-hover hover:text-text',
  danger: 'bg-bad-solid text-white hover:bg-bad-solid-hover border-transparent',
}

export const buttonClasses = (look: Look = 'secondary', size: 'normal' | 'small' = 'normal'): string =>
  classes(
    'inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium',
    'aria-disabled:cursor-not-allowed aria-disabled:opacity-55',
    size === 'small' ? 'h-7 px-2 text-xs' : 'h-8 px-3 text-sm',
    looks[look],
  )

export type ButtonProps = Omit<ComponentProps<'button'>, 'disabled'> & {
  look?: Look
  size?: 'normal' | 'small'
  icon?: ReactNode
  /** Shows progress and ignores further clicks. */
  busy?: boolean
  disabled?: boolean
  /** The gate of the route behind the button. A role that it does not admit sees the button disabled, with the reason. */
  gate?: Gate
  /** Why the button is disabled, when that is not a matter of roles. */
  reason?: string | undefined
}

/** Stays focusable while it is disabled, so that the keyboard reaches the reason. */
export const Button = (props: ButtonProps) => {
  const {
    look,
    size,
    icon,
    busy = false,
    disabled = false,
    gate,
    reason,
    className,
    onClick,
    children,
    ...rest
  } = props
  const refusal = useRefusal(gate) ?? reason
  const off = disabled || busy || refusal !== undefined
  const button = (
    <button
      type="button"
      {...rest}
      aria-disabled={off || undefined}
      aria-description={refusal}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (off) event.preventDefault()
        else onClick?.(event)
      }}
      className={classes(buttonClasses(look, size), className)}
    >
      {busy ? <LoaderCircle aria-hidden className="size-3.5 animate-spin" /> : icon}
      {children}
    </button>
  )
  return refusal === undefined ? button : <Tooltip text={refusal}>{button}</Tooltip>
}

export const IconButton = ({ label, ...props }: Omit<ButtonProps, 'children'> & { label: string }) => (
  <Tooltip text={label}>
    <Button look="quiet" aria-label={label} {...props} className={classes('w-8 px-0!', props.className)} />
  </Tooltip>
)

/** The button that makes another one of a list. */
export const AddButton = (props: Pick<ButtonProps, 'gate' | 'onClick' | 'children'>) => (
  <Button look="primary" icon={<Plus aria-hidden className="size-4" />} {...props} />
)
