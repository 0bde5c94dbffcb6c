import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { classes } from './classes.ts'

export type MenuItem =
  | { label: ReactNode; onSelect: () => void; icon?: ReactNode; danger?: boolean; disabled?: boolean; hint?: ReactNode }
  | 'separator'

type Props = { trigger: ReactElement<Record<string, unknown>>; items: readonly MenuItem[]; align?: 'start' | 'end' }

export const popupClasses = 'fade min-w-44 rounded-md border bg-raised p-1 text-sm shadow-lg outline-none'

export const Menu = ({ trigger, items, align = 'end' }: Props) => (
  <Base.Root modal={false}>
    <Base.Trigger render={trigger} />
    <Base.Portal>
      <Base.Positioner align={align} sideOffset={4} className="z-50">
        <Base.Popup className={popupClasses}>
          {items.map((item, index) =>
            item === 'separator' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: separators have no identity
              <Base.Separator key={index} className="my-1 h-px bg-line" />
            ) : (
              <Base.Item
                // biome-ignore lint/suspicious/noArrayIndexKey: the items of a menu do not move
                key={index}
                disabled={item.disabled}
                onClick={item.onSelect}
                className={classes(
                  'flex h-8 cursor-default select-none items-center gap-2 rounded-sm px-2 outline-none',
                  'data-[disabled]:opacity-50 data-[highlighted]:bg-hover',
                  item.danger && 'text-bad',
                )}
              >
                {item.icon}
                <span className="min-w-0 flex-1 truncate">{item.label}</span>
                {item.hint && <span className="text-faint text-xs">{item.hint}</span>}
              </Base.Item>
            ),
          )}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
)
