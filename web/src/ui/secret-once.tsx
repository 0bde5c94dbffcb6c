import { Download } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { ui } from '../strings/ui.ts'
import { Button } from './button.tsx'
import { Checkbox } from './checkbox.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { download } from './download.ts'

type Props = {
  /** Such as "API key" or "Backup codes". */
  name: string
  secret: string | readonly string[]
  fileName: string
  onStored: () => void
}

/** A secret that the service shows only now. It cannot be left before the person says that they stored it. */
export const SecretOnce = ({ name, secret, fileName, onStored }: Props) => {
  const [stored, setStored] = useState(false)
  const text = typeof secret === 'string' ? secret : secret.join('\n')
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted text-sm">{ui.shownOnce(name)}</p>
      <div className="rounded-md border border-line-strong bg-surface">
        <pre className="overflow-auto whitespace-pre-wrap break-all p-3 font-mono text-sm">{text}</pre>
        <div className="flex gap-2 border-t px-2 py-1.5">
          <CopyButton text={text} className="h-7 px-2">
            {ui.copy}
          </CopyButton>
          <Button
            look="quiet"
            size="small"
            icon={<Download aria-hidden className="size-3.5" />}
            onClick={() => download(fileName, `${text}\n`)}
          >
            {ui.download}
          </Button>
        </div>
      </div>
      <Checkbox label={ui.stored} checked={stored} onChecked={setStored} />
      <div className="flex justify-end">
        <Button look="primary" disabled={!stored} onClick={onStored}>
          {ui.done}
        </Button>
      </div>
    </div>
  )
}

type SecretDialogProps = Omit<Props, 'secret' | 'onStored'> & {
  open: boolean
  onClose: () => void
  title: string
  /** The title once there is a secret. */
  createdTitle: string
  wide?: boolean
  /** The form. It shows the secret of what it has made. */
  children: (onCreated: (secret: string) => void, close: () => void) => ReactNode
}

/** A form, and then the secret of what it has made, which is shown only here. */
export const SecretDialog = (props: SecretDialogProps) => {
  const { open, onClose, title, createdTitle, wide, children, ...once } = props
  const [secret, setSecret] = useState<string>()
  const close = () => {
    setSecret(undefined)
    onClose()
  }
  const isMade = secret !== undefined
  return (
    <Dialog open={open} onClose={close} title={isMade ? createdTitle : title} locked={isMade} wide={wide}>
      {isMade ? <SecretOnce {...once} secret={secret} onStored={close} /> : open && children(setSecret, close)}
    </Dialog>
  )
}
