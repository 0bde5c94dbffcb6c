import { CodeText } from './code-text.tsx'

type Field = { name: string; about: string; note?: string }

/** Names of fields with what they mean. */
export const FieldList = ({ label, fields }: { label: string; fields: readonly Field[] }) => (
  <section aria-label={label}>
    <h3 className="font-semibold text-sm">{label}</h3>
    <dl className="mt-2 divide-y rounded-md border">
      {fields.map(({ name, about, note }) => (
        <div key={name} className="grid gap-x-4 px-3 py-2 sm:grid-cols-[minmax(0,180px)_minmax(0,1fr)]">
          <dt className="break-words font-mono text-xs leading-5">
            {name}
            {note && <span className="block font-sans text-faint">{note}</span>}
          </dt>
          <dd className="text-muted">
            <CodeText text={about} />
          </dd>
        </div>
      ))}
    </dl>
  </section>
)
