import { useTemplateChoices } from '../../../parts/template-data.ts'
import { blasts } from '../../../strings/blasts.ts'
import { TextAreaField, TextField } from '../../../ui/text-field.tsx'
import { parsedJson, variableNames } from './blast-draft.ts'
import type { StepProps } from './blast-steps.ts'

export const VariablesStep = ({ blast, change }: StepProps) => {
  const { data } = useTemplateChoices()
  const template = data?.find(({ slug, channel }) => slug === blast.template && channel === blast.channel)
  const names = template ? variableNames([template.subject, template.html, template.text, blast.subjects]) : []
  return (
    <>
      <p className="text-muted text-sm">{blasts.variablesHelp}</p>
      {template && names.length === 0 && <p className="text-sm">{blasts.noVariables}</p>}
      {names.map((name) => (
        <TextField
          key={name}
          label={<span className="font-mono">{name}</span>}
          value={blast.variables[name] ?? ''}
          onText={(text) => change({ variables: { ...blast.variables, [name]: text } })}
        />
      ))}
      <TextAreaField
        label={blasts.moreVariables}
        help={blasts.moreVariablesHelp}
        error={parsedJson(blast.json) ? undefined : blasts.badJson}
        optional
        spellCheck={false}
        className="font-mono"
        value={blast.json}
        onText={(text) => change({ json: text })}
      />
    </>
  )
}
