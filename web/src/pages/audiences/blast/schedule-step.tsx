import { blasts } from '../../../strings/blasts.ts'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { SelectField, TextField } from '../../../ui/text-field.tsx'
import type { StepProps } from './blast-steps.ts'

const zones = (own: string) =>
  [...new Set(['UTC', own, ...Intl.supportedValuesOf('timeZone')])].map((value) => ({ value, label: value }))

export const ScheduleStep = ({ blast, change }: StepProps) => (
  <>
    <RadioGroup
      legend={blasts.when}
      choices={[
        { value: 'now', label: blasts.now },
        { value: 'later', label: blasts.later },
      ]}
      value={blast.later ? 'later' : 'now'}
      onValue={(when) => change({ later: when === 'later' })}
    />
    {blast.later && (
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={blasts.localTime}
          type="datetime-local"
          value={blast.localTime}
          onText={(text) => change({ localTime: text })}
        />
        <SelectField
          label={blasts.zone}
          value={blast.zone}
          onValue={(zone) => change({ zone })}
          options={zones(blast.zone)}
        />
      </div>
    )}
    <TextField
      label={blasts.ramp}
      help={blasts.rampHelp}
      inputMode="numeric"
      value={blast.ramp}
      onText={(text) => change({ ramp: text })}
    />
    {blast.channel === 'sms' && <p className="text-muted text-sm">{blasts.quietHours}</p>}
  </>
)
