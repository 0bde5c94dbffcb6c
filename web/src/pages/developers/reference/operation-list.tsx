import { reference } from '../../../strings/reference.ts'
import { classes } from '../../../ui/classes.ts'
import { CopyButton } from '../../../ui/copy-button.tsx'
import type { Operation, OperationGroup } from '../api-description.ts'
import { Method } from './method.tsx'

type RowProps = { operation: Operation; selected: boolean; onOpen: (id: string) => void }

const Row = ({ operation, selected, onOpen }: RowProps) => {
  const { id, method, path, summary, curl } = operation
  return (
    <li className={classes('flex items-center pr-2 hover:bg-hover', selected && 'bg-selected')}>
      <button
        type="button"
        aria-current={selected || undefined}
        onClick={() => onOpen(id)}
        className="grid min-w-0 flex-1 gap-x-3 px-3 py-2 text-left text-sm outline-offset-[-2px] md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)] md:items-center"
      >
        <span className="truncate">{summary}</span>
        <span className="flex min-w-0 items-center gap-2">
          <Method method={method} />
          <span className="truncate font-mono text-muted text-xs">{path}</span>
        </span>
      </button>
      <CopyButton text={curl} label={reference.copy(summary)} />
    </li>
  )
}

type Props = { group: OperationGroup; openId: string; onOpen: (id: string) => void }

export const OperationList = ({ group, openId, onOpen }: Props) => (
  <section aria-label={group.name}>
    <h2 className="font-semibold text-base">{group.name}</h2>
    <p className="mb-2 text-muted text-sm">{group.about}</p>
    <ul className="divide-y rounded-md border">
      {group.operations.map((operation) => (
        <Row key={operation.id} operation={operation} selected={operation.id === openId} onOpen={onOpen} />
      ))}
    </ul>
  </section>
)
