import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { ui } from '../strings/ui.ts'
import { classes } from './classes.ts'

const fields = 'input:not([type=hidden]):not(:disabled), textarea:not(:disabled), select:not(:disabled)'

type Props = {
  open: boolean
  onClose: () => void
  title: ReactNode
  description?: ReactNode
  children?: ReactNode
  /** Buttons, the main one last. */
  actions?: ReactNode
  wide?: boolean
  /** For a dialog that has to be answered. */
  locked?: boolean
}

/** Esc closes it, and focus returns to where it was. It begins at the first field, if there is one. */
export const Dialog = ({ open, onClose, title, description, children, actions, wide, locked }: Props) => {
  const popup = useRef<HTMLDivElement>(null)
  const firstField = () => popup.current?.querySelector<HTMLElement>(fields) ?? popup.current
  return (
    <Base.Root open={open} onOpenChange={(now) => !now && !locked && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fade fixed inset-0 z-40 bg-black/40" />
        <Base.Popup
          ref={popup}
          initialFocus={firstField}
          className={classes(
            'fade fixed top-[12vh] left-1/2 z-40 max-h-[80vh] w-[calc(100vw-32px)] -translate-x-1/2 overflow-auto rounded-md border bg-raised p-5 shadow-xl outline-none',
            wide ? 'max-w-2xl' : 'max-w-md',
          )}
        >
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="font-semibold text-md">{title}</Base.Title>
            {!locked && (
              <Base.Close
                aria-label={ui.close}
                className="-mt-1 -mr-1 flex size-7 items-center justify-center rounded-md text-muted hover:bg-hover"
              >
                <X aria-hidden className="size-4" />
              </Base.Close>
            )}
          </div>
          {description && <Base.Description className="mt-1 text-muted text-sm">{description}</Base.Description>}
          {children && <div className="mt-4">{children}</div>}
          {actions && <div className="mt-5 flex flex-wrap justify-end gap-2">{actions}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
