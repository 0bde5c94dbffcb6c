/** A labelled control: label above, help below, and the error of the service next to the field that caused it. */
import { cloneElement, type ReactElement, type ReactNode, useId } from 'react'

type ControlProps = { id?: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }

export type FieldProps = {
  label: ReactNode
  help?: ReactNode
  error?: string | undefined
  optional?: boolean
  children: ReactElement<ControlProps>
}

export const Field = ({ label, help, error, optional, children }: FieldProps) => {
  const id = useId()
  const described = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium text-sm">
        {label}
        {optional && <span className="ml-1 font-normal text-muted">(optional)</span>}
      </label>
      {cloneElement(children, {
        id,
        ...(described && { 'aria-describedby': described }),
        ...(error && { 'aria-invalid': true }),
      })}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-bad text-sm">
          {error}
        </p>
      )}
      {help && (
        <p id={`${id}-help`} className="text-muted text-xs">
          {help}
        </p>
      )}
    </div>
  )
}
