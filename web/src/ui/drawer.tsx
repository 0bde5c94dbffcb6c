import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { ui } from '../strings/ui.ts'

type Props = { open: boolean; onClose: () => void; title: ReactNode; children: ReactNode }

/** A panel at the right on wide screens, the whole screen on narrow ones. The list next to it stays usable. */
export const Drawer = ({ open, onClose, title, children }: Props) => {
  const popup = useRef<HTMLDivElement>(null)
  return (
    <Base.Root open={open} modal={false} disablePointerDismissal onOpenChange={(now) => !now && onClose()}>
      <Base.Portal>
        <Base.Popup
          ref={popup}
          initialFocus={popup}
          className="fade fixed inset-y-0 right-0 z-30 flex w-full flex-col border-l bg-canvas shadow-xl outline-none lg:w-[640px]"
        >
          <div className="flex h-12 shrink-0 items-center justify-between border-b px-4">
            <Base.Title className="truncate font-semibold text-base">{title}</Base.Title>
            <Base.Close
              aria-label={ui.close}
              className="flex size-8 items-center justify-center rounded-md text-muted hover:bg-hover"
            >
              <X aria-hidden className="size-4" />
            </Base.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-auto p-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
