import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { countries } from '../../../strings/billing.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { CountryPicker } from './country-picker.tsx'

type ChoiceProps = { label: string; help: string; checked: boolean; disabled: boolean; onChoose: () => void }

const Choice = ({ label, help, checked, disabled, onChoose }: ChoiceProps) => (
  <label className="flex items-start gap-2 text-sm">
    <input
      type="radio"
      name="countries"
      checked={checked}
      disabled={disabled}
      onChange={onChoose}
      className="mt-0.5 size-4 shrink-0 accent-accent-solid"
    />
    <span>
      <span className="font-medium">{label}</span>
      <span className="block text-muted text-xs">{help}</span>
    </span>
  </label>
)

type EditorProps = { stored: string[] | null; changedAt: string | null }

const Editor = ({ stored, changedAt }: EditorProps) => {
  const disabled = useRefusal('requireOwnerSession') !== undefined
  const [limited, setLimited] = useState(stored !== null)
  const [chosen, setChosen] = useState(stored ?? [])
  const [asked, setAsked] = useState(false)
  const store = () => unwrap(api.PATCH('/api/internal/org/sms-geo', { body: { countries: limited ? chosen : null } }))
  const afterwards = { message: countries.saved, refreshes: [['sms-countries']] }
  const form = useSave(store, afterwards)
  return (
    <>
      <fieldset className="flex flex-col gap-3">
        <legend className="sr-only">{countries.title}</legend>
        <Choice
          label={countries.every}
          help={countries.everyHelp}
          checked={!limited}
          disabled={disabled}
          onChoose={() => setLimited(false)}
        />
        <Choice
          label={countries.chosen}
          help={countries.chosenHelp}
          checked={limited}
          disabled={disabled}
          onChoose={() => setLimited(true)}
        />
      </fieldset>
      {limited && <CountryPicker chosen={chosen} disabled={disabled} onChange={setChosen} />}
      <ErrorNote error={form.rest} />
      <div className="flex items-center gap-4">
        <Button
          look="primary"
          gate="requireOwnerSession"
          busy={form.busy}
          onClick={() => (limited && chosen.length === 0 ? setAsked(true) : form.save())}
        >
          {ui.save}
        </Button>
        <span className="text-muted text-xs">
          {countries.changed}: {changedAt ? <RelativeTime at={changedAt} /> : countries.never}
        </span>
      </div>
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={countries.emptyTitle}
        action={countries.emptyAction}
        typed={countries.emptyTyped}
        onConfirm={store}
        {...afterwards}
      >
        {countries.emptyHelp}
      </ConfirmDialog>
    </>
  )
}

const CountriesPage = () => {
  const { data, error } = useQuery({
    queryKey: ['sms-countries'],
    queryFn: () => unwrap(api.GET('/api/internal/org/sms-geo')),
  })
  return (
    <Page title={countries.title} description={countries.help} width="form">
      <ErrorNote error={error} />
      {data ? (
        <Editor stored={data.countries} changedAt={data.updated_at} />
      ) : (
        !error && <Skeleton className="h-40 w-full" />
      )}
    </Page>
  )
}

export default CountriesPage
