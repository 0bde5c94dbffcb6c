export const PlainText = ({ text }: { text: string }) => (
  <pre className="whitespace-pre-wrap break-words rounded-md border bg-surface p-3 font-mono text-sm">{text}</pre>
)
