/** What is wrong in a form that was refused. */
import { type RefObject, useEffect, useId, useState } from 'react'

type WrongField = { id: string; label: string; message: string }

/** As `Field` writes them. The word "optional" behind a label is no part of it. */
const fieldOf = (control: HTMLInputElement): WrongField => ({
  id: control.id,
  label: control.labels?.[0]?.firstChild?.textContent ?? '',
  message: document.getElementById(`${control.id}-error`)?.textContent ?? '',
})

/** When a form has failed, moves the focus to the first wrong field, and returns all of them in their order. */
export const useWrongFields = (form: RefObject<HTMLFormElement | null>, failure: unknown): WrongField[] => {
  const [wrong, setWrong] = useState<WrongField[]>([])
  useEffect(() => {
    const found = failure ? form.current?.querySelectorAll<HTMLInputElement>('[aria-invalid="true"]') : undefined
    const controls = [...(found ?? [])]
    controls[0]?.focus()
    setWrong(controls.map(fieldOf))
  }, [form, failure])
  return wrong
}

/** Each entry leads to its field, which may be out of sight. */
export const WrongFields = ({ title, fields }: { title: string; fields: readonly WrongField[] }) => {
  const id = useId()
  if (fields.length === 0) return null
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would have fields, and these are links to them
    <div role="group" aria-labelledby={id} className="rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-sm">
      <p id={id} className="font-medium">
        {title}
      </p>
      <ul className="mt-1 flex list-disc flex-col gap-0.5 pl-4">
        {fields.map((field) => (
          <li key={field.id}>
            <button
              type="button"
              className="font-medium underline underline-offset-2"
              onClick={() => document.getElementById(field.id)?.focus()}
            >
              {field.label}
            </button>
            : {field.message}
          </li>
        ))}
      </ul>
    </div>
  )
}
