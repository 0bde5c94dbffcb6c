import { verification } from '../../../strings/audit.ts'
import { Copyable } from '../../../ui/copy-button.tsx'
import { findingNames, type LogReport } from './verify-log.ts'

/** The entries with something wrong, by what is wrong with them. */
export const Findings = ({ report }: { report: LogReport }) =>
  findingNames
    .filter((name) => report.findings[name].length > 0)
    .map((name) => (
      <div key={name}>
        <h3 className="font-medium text-sm">
          {verification.findings[name]} ({report.findings[name].length})
        </h3>
        <ul className="mt-1 flex max-h-60 flex-col overflow-auto">
          {report.findings[name].map((id) => (
            <li key={id}>
              <Copyable text={id} />
            </li>
          ))}
        </ul>
      </div>
    ))
