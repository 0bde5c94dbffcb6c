import { blasts } from '../../../strings/blasts.ts'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Select } from '../../../ui/select.tsx'
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
        <Field label={blasts.localTime}>
          <Input
            type="datetime-local"
            value={blast.localTime}
            onChange={(event) => change({ localTime: event.target.value })}
          />
        </Field>
        <Field label={blasts.zone}>
          <Select value={blast.zone} onValue={(zone) => change({ zone })} options={zones(blast.zone)} />
        </Field>
      </div>
    )}
    <Field label={blasts.ramp} help={blasts.rampHelp}>
      <Input inputMode="numeric" value={blast.ramp} onChange={(event) => change({ ramp: event.target.value })} />
    </Field>
    {blast.channel === 'sms' && <p className="text-muted text-sm">{blasts.quietHours}</p>}
  </>
)
