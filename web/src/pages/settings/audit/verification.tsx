import { ShieldAlert, ShieldCheck, ShieldQuestionMark } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { verification } from '../../../strings/audit.ts'
import { Button } from '../../../ui/button.tsx'
import { classes } from '../../../ui/classes.ts'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Section } from '../../../ui/templates.tsx'
import { Findings } from './findings.tsx'
import { isIntact, type LogReport, verifyLog } from './verify-log.ts'

type Run = { state: 'running' | 'done' | 'stopped'; report?: LogReport } | { state: 'failed'; error: unknown }

const verdicts = {
  ok: { box: 'border-ok/40 bg-ok-soft', text: 'text-ok', Icon: ShieldCheck },
  bad: { box: 'border-bad/40 bg-bad-soft', text: 'text-bad', Icon: ShieldAlert },
  unknown: { box: 'border-warn/40 bg-warn-soft', text: 'text-warn', Icon: ShieldQuestionMark },
}

type VerdictProps = { kind: keyof typeof verdicts; title: string; children: ReactNode }

const Verdict = ({ kind, title, children }: VerdictProps) => {
  const { box, text, Icon } = verdicts[kind]
  return (
    <div role="status" className={classes('flex gap-3 rounded-md border p-4', box)}>
      <Icon aria-hidden className={classes('size-6 shrink-0', text)} />
      <div>
        <div className="font-semibold text-md">{title}</div>
        <div className="text-sm">{children}</div>
      </div>
    </div>
  )
}

const Outcome = ({ report }: { report: LogReport }) =>
  isIntact(report) ? (
    <Verdict kind="ok" title={verification.intact}>
      {verification.intactHelp(report.checked, report.links)}
    </Verdict>
  ) : (
    <Verdict kind="bad" title={verification.found}>
      {verification.foundHelp}
    </Verdict>
  )

const endText = (state: string): string => verification.ends[state] ?? state

const Figures = ({ report }: { report: LogReport }) => (
  <DetailList
    facts={[
      { name: verification.checked, value: report.checked },
      { name: verification.ok, value: report.ok },
      { name: verification.unsigned, value: report.unsigned },
      { name: verification.legacy, value: report.legacy },
      { name: verification.links, value: report.links },
      { name: verification.waiting, value: report.waiting },
      { name: verification.head, value: endText(report.head) },
      { name: verification.pruned, value: endText(report.pruned) },
    ]}
  />
)

const useRun = () => {
  const [run, setRun] = useState<Run>()
  const control = useRef<AbortController>(undefined)
  useEffect(() => () => control.current?.abort(), [])
  const start = async () => {
    control.current = new AbortController()
    const { signal } = control.current
    const show = (now: Run): void => {
      if (!signal.aborted) setRun(now)
    }
    show({ state: 'running' })
    try {
      const report = await verifyLog({ signal, onProgress: (report) => show({ state: 'running', report }) })
      show({ state: 'done', report })
    } catch (error) {
      show({ state: 'failed', error })
    }
  }
  const stop = () => {
    control.current?.abort()
    setRun((now) => (now?.state === 'running' ? { ...now, state: 'stopped' } : now))
  }
  return { run, start, stop }
}

export const Verification = () => {
  const { run, start, stop } = useRun()
  const running = run?.state === 'running'
  const report = run?.state === 'failed' ? undefined : run?.report
  return (
    <Section
      title={verification.run}
      description={verification.about}
      actions={
        running ? (
          <Button onClick={stop}>{verification.stop}</Button>
        ) : (
          <Button look="primary" gate="requireOwnerSession" onClick={() => void start()}>
            {run ? verification.again : verification.run}
          </Button>
        )
      }
    >
      {run && (
        <div className="flex flex-col gap-4">
          {running && (
            <p role="status" className="text-sm">
              {verification.running(report?.checked ?? 0, report?.links ?? 0)}
            </p>
          )}
          {run.state === 'failed' && (
            <>
              <Verdict kind="unknown" title={verification.unverified}>
                {verification.unverifiedHelp}
              </Verdict>
              <ErrorNote error={run.error} />
            </>
          )}
          {run.state === 'stopped' && (
            <Verdict kind="unknown" title={verification.unverified}>
              {verification.stopped}
            </Verdict>
          )}
          {run.state === 'done' && report && <Outcome report={report} />}
          {report && <Figures report={report} />}
          {report && <Findings report={report} />}
        </div>
      )}
    </Section>
  )
}
