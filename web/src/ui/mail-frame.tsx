import { useEffect, useMemo, useRef, useState } from 'react'
import { messages } from '../strings/messages.ts'
import { safeMail, showMail } from './safe-mail.ts'

const maxHeight = 1_600

/** A mail as its reader sees it, in a frame that runs no scripts and loads nothing from other servers. */
export const MailFrame = ({ html, title }: { html: string; title: string }) => {
  const frame = useRef<HTMLIFrameElement>(null)
  // A browser loads a frame again when its place in the page changes.
  const [loads, setLoads] = useState(0)
  const [height, setHeight] = useState(320)
  const mail = useMemo(() => safeMail(html), [html])
  useEffect(() => {
    const shown = frame.current
    if (loads === 0 || !shown) return
    const controller = new AbortController()
    void showMail(shown, mail, controller.signal).then(() => {
      if (controller.signal.aborted) return
      const content = shown.contentDocument?.documentElement.scrollHeight ?? 0
      setHeight(Math.min(Math.max(content, 160), maxHeight))
    })
    return () => controller.abort()
  }, [loads, mail])
  return (
    <div className="flex flex-col gap-2">
      {mail.blocked > 0 && <p className="text-muted text-xs">{messages.blockedPictures(mail.blocked)}</p>}
      <iframe
        ref={frame}
        title={title}
        sandbox="allow-same-origin"
        // Without a doctype old rules of layout would apply.
        srcDoc="<!doctype html>"
        onLoad={() => setLoads((count) => count + 1)}
        height={height}
        className="w-full rounded-md border bg-white"
      />
    </div>
  )
}
