import { useMemo, useRef, useState } from 'react'
import { messages } from '../strings/messages.ts'
import { applyStyles, safeMail } from './safe-mail.ts'

const maxHeight = 1_600

/** A mail as its reader sees it, in a frame that runs no scripts and loads nothing from other servers. */
export const MailFrame = ({ html, title }: { html: string; title: string }) => {
  const frame = useRef<HTMLIFrameElement>(null)
  const [height, setHeight] = useState(320)
  const mail = useMemo(() => safeMail(html), [html])
  const shown = async () => {
    if (!frame.current) return
    await applyStyles(frame.current, mail.css)
    const content = frame.current?.contentDocument?.documentElement.scrollHeight ?? 0
    setHeight(Math.min(Math.max(content, 160), maxHeight))
  }
  return (
    <div className="flex flex-col gap-2">
      {mail.blocked > 0 && <p className="text-muted text-xs">{messages.blockedPictures(mail.blocked)}</p>}
      <iframe
        ref={frame}
        title={title}
        sandbox="allow-same-origin"
        srcDoc={mail.html}
        onLoad={() => void shown()}
        height={height}
        className="w-full rounded-md border bg-white"
      />
    </div>
  )
}
