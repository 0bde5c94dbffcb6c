import { useEffect, useRef, useState } from 'react'
import { mail as words } from '../strings/mail.ts'
import { Button } from '../ui/button.tsx'
import type { FrameNews } from './frame-script.ts'
import { type LoadPictures, useCleanMail } from './use-clean-mail.ts'

const heights = { first: 320, least: 160, most: 1_600 }

/** What the frame itself loads carries no cookies, in browsers that know this attribute. */
const withoutCredentials = { credentialless: '' }

type Props = {
  html: string
  title: string
  /** Of which mail or template this is. Pictures are allowed for one of them, not for the next. */
  of: string
  /** Of a mail that has attachments. The same function until it loads something else. */
  loadPictures?: LoadPictures
}

/** A mail as its reader sees it. It has no access to the dashboard, runs no scripts and sends no requests by itself. */
export const MailFrame = ({ html, title, of, loadPictures }: Props) => {
  const frame = useRef<HTMLIFrameElement>(null)
  const [allowed, setAllowed] = useState<string>()
  const remote = allowed === of
  const { mail, failed } = useCleanMail(html, remote, loadPictures)
  // A browser loads a frame again when its place in the page changes.
  const [loads, setLoads] = useState(0)
  const [height, setHeight] = useState(heights.first)
  const [shown, setShown] = useState(false)
  useEffect(() => {
    const listen = ({ source, data }: MessageEvent<FrameNews>): void => {
      if (source === null || source !== frame.current?.contentWindow) return
      if (data.kind === 'ready') setLoads((count) => count + 1)
      else {
        setHeight(Math.min(Math.max(Number(data.height) || 0, heights.least), heights.most))
        setShown(true)
      }
    }
    window.addEventListener('message', listen)
    return () => window.removeEventListener('message', listen)
  }, [])
  useEffect(() => {
    setShown(false)
    // The frame has no origin that could be named.
    if (loads > 0 && mail) frame.current?.contentWindow?.postMessage(mail, '*')
  }, [loads, mail])
  if (failed) return <p className="text-muted text-sm">{words.failed}</p>
  return (
    <div aria-busy={!shown} className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-muted text-xs">
        {mail && mail.blocked > 0 && (
          <>
            <p>{words.blocked(mail.blocked)}</p>
            <Button size="small" onClick={() => setAllowed(of)}>
              {words.showPictures}
            </Button>
          </>
        )}
        {mail?.cut && <p>{words.cut}</p>}
      </div>
      <iframe
        // The policy for pictures belongs to the page in the frame.
        key={String(remote)}
        ref={frame}
        title={title}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        {...withoutCredentials}
        src={remote ? '/mail-frame.html?pictures=remote' : '/mail-frame.html'}
        data-shown={shown || undefined}
        height={height}
        className="w-full rounded-md border bg-white"
      />
    </div>
  )
}
