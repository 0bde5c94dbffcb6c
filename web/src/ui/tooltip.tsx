import { Tooltip as Base } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'

/** The trigger keeps its own role and name. */
export const Tooltip = ({ text, children }: { text: ReactNode; children: ReactElement<Record<string, unknown>> }) => (
  <Base.Root>
    <Base.Trigger render={children} />
    <Base.Portal>
      <Base.Positioner sideOffset={6} className="z-50">
        <Base.Popup className="fade max-w-72 rounded-md bg-text px-2 py-1 text-canvas text-xs">{text}</Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
)
