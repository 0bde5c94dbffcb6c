/** Where the template says something that it does not mean, and which values the preview lacks. */
import { Info, TriangleAlert } from 'lucide-react'
import { editor } from '../../../strings/templates.ts'
import type { Problem } from './code-editor.tsx'
import { type Part, type Parts, partNames } from './content.ts'
import type { Preview } from './use-preview.ts'

export type FoundProblem = Problem & { part: Part }

const maxProblems = 100
const longestTag = 200

const lengthAt = (text: string, offset: number): number => {
  const end = text.indexOf('}}', offset)
  return end < 0 || end - offset > longestTag ? 2 : end + 2 - offset
}

const offsetOf = (text: string, line: number, column: number): number => {
  let start = 0
  for (let at = 1; at < line; at++) start = text.indexOf('\n', start) + 1
  return start + column - 1
}

/** The first tag of the name in each part. */
const tagsOf = (name: string, parts: Parts): FoundProblem[] =>
  partNames.flatMap((part) => {
    const pattern = new RegExp(`\\{\\{\\s*(?:#\\s*each\\s+)?${name.replace(/[$.]/g, '\\$&')}\\s*\\}\\}`)
    const found = pattern.exec(parts[part])
    if (!found) return []
    const before = parts[part].slice(0, found.index).split('\n')
    const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
    return [{ part, ...place, length: found[0].length, message: editor.noValue(name), severity: 'info' as const }]
  })

export const problemsOf = ({ parts, result, missing }: Preview): FoundProblem[] => {
  const warnings = result.warnings.map(({ field, line, column, message }) => {
    const length = lengthAt(parts[field], offsetOf(parts[field], line, column))
    return { part: field, line, column, length, message, severity: 'warning' as const }
  })
  return [...warnings, ...missing.flatMap((name) => tagsOf(name, parts))].slice(0, maxProblems)
}

/** The list names a variable once. The editor marks it in every part. */
const listed = (problems: readonly FoundProblem[]): FoundProblem[] =>
  problems.filter(
    ({ severity, message }, index) =>
      severity === 'warning' || problems.findIndex((other) => other.message === message) === index,
  )

type Props = { problems: readonly FoundProblem[]; onGo: (problem: FoundProblem) => void }

export const Problems = ({ problems, onGo }: Props) =>
  problems.length === 0 ? null : (
    <section aria-label={editor.problems}>
      <h2 className="mb-1 font-medium text-sm">{editor.problems}</h2>
      <ul className="max-h-48 overflow-auto rounded-md border">
        {listed(problems).map((problem) => (
          <li
            key={`${problem.part}:${problem.line}:${problem.column}:${problem.message}`}
            className="border-b last:border-b-0"
          >
            <button
              type="button"
              onClick={() => onGo(problem)}
              className="flex w-full items-start gap-2 px-3 py-1.5 text-left text-sm outline-offset-[-2px] hover:bg-hover"
            >
              {problem.severity === 'info' ? (
                <Info aria-hidden className="mt-0.5 size-4 shrink-0 text-info" />
              ) : (
                <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
              )}
              <span className="min-w-0 flex-1 break-words">{problem.message}</span>
              <span className="shrink-0 font-mono text-muted text-xs leading-5">
                {editor.place(editor.partNames[problem.part], problem.line, problem.column)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
