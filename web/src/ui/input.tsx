import type { ComponentProps } from 'react'
import { classes } from './classes.ts'

export const controlClasses =
  'w-full rounded-md border border-line-strong bg-canvas px-2.5 text-sm text-text aria-invalid:border-bad disabled:opacity-60'

export const Input = ({ className, ...props }: ComponentProps<'input'>) => (
  <input spellCheck={false} {...props} className={classes(controlClasses, 'h-8', className)} />
)

export const TextArea = ({ className, ...props }: ComponentProps<'textarea'>) => (
  <textarea {...props} className={classes(controlClasses, 'min-h-20 py-1.5', className)} />
)

/** Six digits of a mailed or generated code. Browsers and phones fill it in by themselves. */
export const CodeInput = ({ className, ...props }: ComponentProps<'input'>) => (
  <Input
    inputMode="numeric"
    autoComplete="one-time-code"
    maxLength={12}
    {...props}
    className={classes('h-10 text-center font-mono text-lg tracking-[0.3em]', className)}
  />
)
