import { blasts } from '../../../strings/blasts.ts'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { optionsOf } from '../../../ui/select.tsx'
import { TextAreaField, TextField } from '../../../ui/text-field.tsx'
import { subjectsOf } from './blast-draft.ts'
import type { StepProps } from './blast-steps.ts'

const Winner = ({ blast, change }: StepProps) => (
  <div className="flex flex-col gap-4 border-l-2 pl-4">
    <TextField
      label={blasts.testPercent}
      inputMode="numeric"
      value={blast.testPercent}
      onText={(text) => change({ testPercent: text })}
    />
    <TextField
      label={blasts.waitMinutes}
      inputMode="numeric"
      value={blast.waitMinutes}
      onText={(text) => change({ waitMinutes: text })}
    />
    <RadioGroup
      legend={blasts.by}
      choices={optionsOf(blasts.bys)}
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
      <TextAreaField
        label={blasts.subjects}
        help={blasts.subjectsHelp}
        optional
        rows={4}
        value={blast.subjects}
        onText={(text) => change({ subjects: text })}
      />
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
