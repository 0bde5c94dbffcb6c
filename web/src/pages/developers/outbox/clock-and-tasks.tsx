import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { moveClock, runTask, tasks } from '../../../api/dev-tools.ts'
import { outbox } from '../../../strings/outbox.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Select } from '../../../ui/select.tsx'
import { Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { everything, useWork } from '../../../ui/use-save.ts'

const shownCounts = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name.replaceAll('_', ' ')}: ${count}`)
    .join(', ')

export const ClockAndTasks = () => {
  const clock = useQuery({ queryKey: ['dev-clock'], queryFn: () => moveClock({ advance_seconds: 0 }) })
  const [task, setTask] = useState('scheduler')
  const form = useWork({ refreshes: [everything] })
  const run = async () => {
    const { counts } = await runTask(task)
    toast(outbox.ran(task), { description: shownCounts(counts) })
  }
  return (
    <Section title={outbox.tools} description={clock.data ? outbox.now(clock.data.now) : outbox.toolsHelp}>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-2">
          {Object.entries(outbox.advance).map(([seconds, label]) => (
            <Button
              key={seconds}
              busy={form.busy}
              onClick={() => form.save(() => moveClock({ advance_seconds: Number(seconds) }))}
            >
              {label}
            </Button>
          ))}
          <Button look="quiet" busy={form.busy} onClick={() => form.save(() => moveClock({ reset: true }))}>
            {outbox.reset}
          </Button>
          <span className="flex items-center gap-2 sm:ml-auto">
            <Select
              aria-label={outbox.task}
              value={task}
              onValue={setTask}
              options={tasks.map((name) => ({ value: name, label: name }))}
            />
            <Button busy={form.busy} onClick={() => form.save(run)}>
              {outbox.run}
            </Button>
          </span>
        </div>
        <ErrorNote error={form.rest} />
      </div>
    </Section>
  )
}
