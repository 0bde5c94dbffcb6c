import { blasts } from '../../../strings/blasts.ts'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import { subjectsOf } from './blast-draft.ts'
import type { StepProps } from './blast-steps.ts'

const Winner = ({ blast, change }: StepProps) => (
  <div className="flex flex-col gap-4 border-l-2 pl-4">
    <Field label={blasts.testPercent}>
      <Input
        inputMode="numeric"
        value={blast.testPercent}
        onChange={(event) => change({ testPercent: event.target.value })}
      />
    </Field>
    <Field label={blasts.waitMinutes}>
      <Input
        inputMode="numeric"
        value={blast.waitMinutes}
        onChange={(event) => change({ waitMinutes: event.target.value })}
      />
    </Field>
    <RadioGroup
      legend={blasts.by}
      choices={Object.entries(blasts.bys).map(([value, label]) => ({ value, label }))}
      value={blast.by}
      onValue={(by) => change({ by: by as 'opened' | 'clicked' })}
    />
  </div>
)

export const SubjectsStep = (props: StepProps) => {
  const { blast, change } = props
  if (blast.channel === 'sms') return <p className="text-sm">{blasts.smsSubjects}</p>
  const several = subjectsOf(blast).length >= 2
  return (
    <>
      <Field label={blasts.subjects} help={blasts.subjectsHelp} optional>
        <TextArea rows={4} value={blast.subjects} onChange={(event) => change({ subjects: event.target.value })} />
      </Field>
      <Checkbox
        label={blasts.trackOpens}
        checked={blast.trackOpens}
        onChecked={(trackOpens) => change({ trackOpens })}
      />
      <Checkbox
        label={blasts.trackClicks}
        checked={blast.trackClicks}
        onChecked={(trackClicks) => change({ trackClicks })}
      />
      <Checkbox
        label={blasts.winner}
        checked={blast.winner && several}
        disabled={!several}
        onChecked={(winner) => change({ winner })}
      />
      {!several && <p className="-mt-2 pl-6 text-muted text-xs">{blasts.winnerNeeds}</p>}
      {several && blast.winner && <Winner {...props} />}
    </>
  )
}
