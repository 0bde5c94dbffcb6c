import { useQuery } from '@tanstack/react-query'
import { MailOpen } from 'lucide-react'
import { useState } from 'react'
import { readOutbox } from '../../api/dev-tools.ts'
import { useDevTools } from '../../api/use-dev-tools.ts'
import { signIn } from '../../strings/sign-in.ts'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { PlainText } from '../../ui/plain-text.tsx'

const words = signIn.development

/** A link of the mail that leads back to this dashboard. */
const linkIn = (text: string): string | undefined =>
  text.match(/https?:\/\/\S+/g)?.find((url) => url.startsWith(`${location.origin}/`))

const NewestMail = ({ to, onClose }: { to: string; onClose: () => void }) => {
  const { data, error } = useQuery({
    queryKey: ['outbox', 'email', to, 'newest'],
    queryFn: () => readOutbox('email', to),
    refetchInterval: 1_000,
  })
  const mail = data?.data[0]
  const text = mail?.text ?? ''
  const link = linkIn(text)
  return (
    <Dialog open onClose={onClose} title={mail?.subject ?? words.title}>
      <div className="flex flex-col gap-3">
        <ErrorNote error={error} />
        {mail ? <PlainText text={text} /> : <p className="text-muted text-sm">{words.none}</p>}
        {link && (
          <a href={link} className={buttonClasses('primary')}>
            {words.follow}
          </a>
        )}
      </div>
    </Dialog>
  )
}

/** In development no mail leaves the machine. The outbox is a page for people who are signed in, so the mail is shown here. */
export const DevMail = ({ to }: { to: string }) => {
  const isOn = useDevTools()
  const [open, setOpen] = useState(false)
  if (!isOn) return null
  return (
    <div className="flex flex-col gap-2 rounded-md border border-dashed px-3 py-2 text-muted text-sm">
      <p>{words.help}</p>
      <div>
        <Button size="small" icon={<MailOpen aria-hidden className="size-3.5" />} onClick={() => setOpen(true)}>
          {words.show}
        </Button>
      </div>
      {open && <NewestMail to={to} onClose={() => setOpen(false)} />}
    </div>
  )
}
