import { reference } from '../../../strings/reference.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import type { Operation } from '../api-description.ts'
import { CodeText } from '../code-text.tsx'
import { FieldList } from '../field-list.tsx'
import { Method } from './method.tsx'

const places = ['path', 'query', 'header'] as const

const Parameters = ({ operation }: { operation: Operation }) =>
  places.map((place) => {
    const fields = operation.parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, description = '', required }) => ({
        name,
        about: description,
        ...(required && place !== 'path' && { note: reference.required }),
      }))
    return fields.length > 0 && <FieldList key={place} label={reference.parameters[place]} fields={fields} />
  })

const Example = ({ label, code }: { label: string; code: string }) => (
  <section>
    <h3 className="mb-2 font-semibold text-sm">{label}</h3>
    <CodeBlock label={label} code={code} />
  </section>
)

export const OperationDetail = ({ operation }: { operation: Operation }) => (
  <div className="flex flex-col gap-5">
    <div className="flex min-w-0 items-center">
      <Method method={operation.method} />
      <Copyable text={operation.path} />
    </div>
    <div className="flex flex-col gap-2">
      <CodeText text={operation.description} />
    </div>
    <Example label={reference.request} code={operation.curl} />
    <Parameters operation={operation} />
    {operation.response !== undefined && (
      <Example label={reference.response} code={JSON.stringify(operation.response, null, 2)} />
    )}
  </div>
)
