import { beginningOf, RestNote } from './long-text.tsx'

export const PlainText = ({ text }: { text: string }) => (
  <div className="rounded-md border bg-surface">
    <pre className="whitespace-pre-wrap break-words p-3 font-mono text-sm">{beginningOf(text)}</pre>
    <RestNote text={text} />
  </div>
)
