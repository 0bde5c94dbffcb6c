import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { ui } from '../strings/ui.ts'

/** Without a secure context there is no clipboard, as on a plain HTTP address in a local network. */
const copy = async (text: string): Promise<void> => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

type Props = { text: string; label?: string; children?: string; className?: string }

export const CopyButton = ({ text, label = ui.copy, children, className = '' }: Props) => {
  const [copied, setCopied] = useState(false)
  const Icon = copied ? Check : Copy
  return (
    <button
      type="button"
      aria-label={children ? undefined : copied ? ui.copied : label}
      title={label}
      onClick={async (event) => {
        event.stopPropagation()
        await copy(text)
        setCopied(true)
        setTimeout(() => setCopied(false), 1_500)
      }}
      className={`inline-flex h-6 min-w-6 shrink-0 items-center justify-center gap-1 rounded-sm px-1 text-faint text-xs hover:bg-hover hover:text-text ${className}`}
    >
      <Icon aria-hidden className={copied ? 'size-3.5 text-ok' : 'size-3.5'} />
      {children && (copied ? ui.copied : children)}
    </button>
  )
}

/** An id, address or other text that people copy. */
export const Copyable = ({ text }: { text: string }) => (
  <span className="inline-flex min-w-0 items-center gap-0.5">
    <span className="truncate font-mono text-sm">{text}</span>
    <CopyButton text={text} />
  </span>
)
