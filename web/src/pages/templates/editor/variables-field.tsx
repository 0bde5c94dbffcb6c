import { editor } from '../../../strings/templates.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { TextArea } from '../../../ui/input.tsx'
import type { Variables } from './use-preview.ts'

type Read = { variables: Variables; fault?: undefined } | { variables?: undefined; fault: string }

export const readVariables = (text: string): Read => {
  if (text.trim() === '') return { variables: {} }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fault: editor.notObject }
    return { variables: value as Variables }
  } catch (error) {
    return { fault: editor.notJson((error as Error).message) }
  }
}

/** With `{ a: { b: '' } }` for the name `a.b`, as a request writes it. */
const withNames = (variables: Variables, names: readonly string[]): Variables => {
  const next = structuredClone(variables)
  for (const name of names) {
    const keys = name.split('.')
    let at = next
    for (const key of keys.slice(0, -1)) {
      if (typeof at[key] !== 'object' || at[key] === null) at[key] = {}
      at = at[key] as Variables
    }
    at[keys.at(-1) as string] ??= ''
  }
  return next
}

type Props = { text: string; onText: (text: string) => void; missing: readonly string[]; fault?: string | undefined }

export const VariablesField = ({ text, onText, missing, fault }: Props) => {
  const { variables } = readVariables(text)
  const named = missing.slice(0, 3).join(', ') + (missing.length > 3 ? ', …' : '')
  return (
    <div className="flex flex-col gap-2">
      <Field label={editor.variables} help={editor.variablesHelp} error={fault}>
        <TextArea
          value={text}
          spellCheck={false}
          rows={4}
          onChange={(event) => onText(event.target.value)}
          className="font-mono"
        />
      </Field>
      <div className="min-h-7">
        {variables && missing.length > 0 && (
          <Button size="small" onClick={() => onText(JSON.stringify(withNames(variables, missing), null, 2))}>
            {editor.addMissing(named)}
          </Button>
        )}
      </div>
    </div>
  )
}
