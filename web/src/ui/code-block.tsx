import { CopyButton } from './copy-button.tsx'

/** Text to copy, such as a curl command. */
export const CodeBlock = ({ code, label = 'Code' }: { code: string; label?: string }) => (
  <div className="relative rounded-md border bg-surface">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard */}
    <section tabIndex={0} aria-label={label} className="overflow-auto">
      <pre className="p-3 pr-10 font-mono text-xs leading-5">{code}</pre>
    </section>
    <CopyButton text={code} className="absolute top-2 right-2 bg-surface" />
  </div>
)
