import { CopyButton } from './copy-button.tsx'
import { beginningOf, RestNote } from './long-text.tsx'

/** Text to copy, such as a curl command. */
export const CodeBlock = ({ code, label = 'Code' }: { code: string; label?: string }) => (
  <div className="rounded-md border bg-surface">
    <div className="flex items-start">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard */}
      <section tabIndex={0} aria-label={label} className="min-w-0 flex-1 overflow-auto">
        <pre className="p-3 pr-0 font-mono text-xs leading-5">{beginningOf(code)}</pre>
      </section>
      <CopyButton text={code} className="m-2 shrink-0" />
    </div>
    <RestNote text={code} />
  </div>
)
