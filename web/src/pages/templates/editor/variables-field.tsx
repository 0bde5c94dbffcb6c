import { readVariables, type Variables } from '../../../parts/template-variables.ts'
import { editor } from '../../../strings/templates.ts'
import { Button } from '../../../ui/button.tsx'
import { TextAreaField } from '../../../ui/text-field.tsx'

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
      <TextAreaField
        label={editor.variables}
        help={editor.variablesHelp}
        error={fault}
        value={text}
        spellCheck={false}
        rows={4}
        className="font-mono"
        onText={onText}
      />
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
