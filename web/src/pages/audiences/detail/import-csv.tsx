import { useState } from 'react'
import { importing } from '../../../strings/audiences.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Section } from '../../../ui/templates.tsx'
import { SelectField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { type CsvHeader, guessTarget, isReachable, isTwice, readHeader, targetNames, withHeader } from './csv-header.ts'
import { ImportReportView } from './import-report.tsx'
import { type ImportReport, uploadCsv } from './upload-csv.ts'

const maxBytes = 10 * 1_024 * 1_024

type Chosen = { text: string; header: CsvHeader; targets: string[] }

const Mapping = ({ chosen, onChange }: { chosen: Chosen; onChange: (targets: string[]) => void }) => (
  <fieldset className="flex flex-col gap-3">
    <legend className="mb-2 font-medium text-sm">{importing.columns}</legend>
    {chosen.header.names.map((name, index) => (
      <SelectField
        // biome-ignore lint/suspicious/noArrayIndexKey: columns can have the same name and do not move
        key={index}
        label={importing.column(name)}
        className="w-full"
        value={chosen.targets[index] as string}
        options={[
          ...targetNames.map((target) => ({ value: target, label: importing.targets[target] as string })),
          ...(targetNames.includes(name) ? [] : [{ value: name, label: importing.own(name) }]),
        ]}
        onValue={(target) => onChange(chosen.targets.with(index, target))}
      />
    ))}
  </fieldset>
)

const problemOf = (chosen: Chosen | undefined): string | undefined => {
  if (!chosen) return undefined
  if (chosen.header.names.join('') === '') return importing.noHeader
  if (!isReachable(chosen.targets)) return importing.noTarget
  return isTwice(chosen.targets) ? importing.twice : undefined
}

const Progress = ({ part }: { part: number }) => (
  <div role="status" className="flex flex-col gap-1 text-sm">
    <progress aria-label={importing.title} value={part} max={1} className="h-2 w-full accent-accent-solid" />
    {part < 1 ? importing.uploading(Math.round(part * 100)) : importing.processing}
  </div>
)

export const ImportCsv = ({ audienceId }: { audienceId: string }) => {
  const [chosen, setChosen] = useState<Chosen>()
  const [tooLarge, setTooLarge] = useState(false)
  const [part, setPart] = useState<number>()
  const [report, setReport] = useState<ImportReport>()
  const form = useSave(
    async ({ text, header, targets }: Chosen) => {
      setPart(0)
      try {
        setReport(await uploadCsv(audienceId, withHeader(text, header, targets), setPart))
        setChosen(undefined)
      } finally {
        setPart(undefined)
      }
    },
    { refreshes: [['contacts'], ['audiences']] },
  )
  const choose = async (file: File | undefined) => {
    setReport(undefined)
    form.clear()
    setTooLarge(file !== undefined && file.size > maxBytes)
    if (!file || file.size > maxBytes) return setChosen(undefined)
    const text = await file.text()
    const header = readHeader(text)
    setChosen({ text, header, targets: header.names.map(guessTarget) })
  }
  const problem = tooLarge ? importing.tooLarge : problemOf(chosen)
  const send = () => {
    if (!chosen || problem) return
    form.save(chosen)
  }
  return (
    <Section title={importing.title} description={importing.help}>
      <SaveForm
        label={importing.title}
        onSubmit={send}
        form={form}
        error={undefined}
        gate="requireDeveloperSession"
        disabled={!chosen || problem !== undefined}
        action={importing.start}
      >
        <Field label={importing.file} error={problem}>
          <Input
            type="file"
            accept=".csv,text/csv"
            className="h-auto py-1"
            onChange={(event) => void choose(event.target.files?.[0])}
          />
        </Field>
        {chosen && <Mapping chosen={chosen} onChange={(targets) => setChosen((now) => now && { ...now, targets })} />}
        {part !== undefined && <Progress part={part} />}
        <ErrorNote error={form.error} />
      </SaveForm>
      {report && (
        <div className="mt-6 border-t pt-4">
          <h3 className="mb-3 font-semibold text-base">{importing.report}</h3>
          <ImportReportView report={report} />
        </div>
      )}
    </Section>
  )
}
