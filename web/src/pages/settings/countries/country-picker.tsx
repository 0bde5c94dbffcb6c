import { useState } from 'react'
import { countries } from '../../../strings/billing.ts'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { allCountries } from '../../../ui/country-names.ts'
import { Input } from '../../../ui/input.tsx'

type Props = { chosen: readonly string[]; disabled: boolean; onChange: (codes: string[]) => void }

const matches = (text: string) => {
  const wanted = text.trim().toLowerCase()
  return ({ code, name }: { code: string; name: string }) =>
    name.toLowerCase().includes(wanted) || code.toLowerCase() === wanted
}

export const CountryPicker = ({ chosen, disabled, onChange }: Props) => {
  const [text, setText] = useState('')
  const found = allCountries.filter(matches(text))
  const toggle = (code: string, on: boolean) => onChange(on ? [...chosen, code] : chosen.filter((one) => one !== code))
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Input
          type="search"
          aria-label={countries.find}
          placeholder={countries.find}
          value={text}
          onChange={(event) => setText(event.target.value)}
          className="max-w-60"
        />
        <span className="text-muted text-sm">{countries.allowed(chosen.length)}</span>
      </div>
      <fieldset disabled={disabled} className="max-h-80 overflow-auto rounded-md border p-3">
        <legend className="sr-only">{countries.title}</legend>
        {found.length === 0 && <p className="text-muted text-sm">{countries.noMatch}</p>}
        <div className="grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
          {found.map(({ code, name }) => (
            <Checkbox
              key={code}
              label={
                <>
                  {name} <span className="font-mono text-muted text-xs">{code}</span>
                </>
              }
              checked={chosen.includes(code)}
              onChecked={(on) => toggle(code, on)}
            />
          ))}
        </div>
      </fieldset>
    </div>
  )
}
