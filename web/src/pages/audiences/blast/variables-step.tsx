import { blasts } from '../../../strings/blasts.ts'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import { useTemplateChoices } from '../../templates/template-data.ts'
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
        <Field key={name} label={<span className="font-mono">{name}</span>}>
          <Input
            value={blast.variables[name] ?? ''}
            onChange={(event) => change({ variables: { ...blast.variables, [name]: event.target.value } })}
          />
        </Field>
      ))}
      <Field
        label={blasts.moreVariables}
        help={blasts.moreVariablesHelp}
        error={parsedJson(blast.json) ? undefined : blasts.badJson}
        optional
      >
        <TextArea
          spellCheck={false}
          className="font-mono"
          value={blast.json}
          onChange={(event) => change({ json: event.target.value })}
        />
      </Field>
    </>
  )
}
